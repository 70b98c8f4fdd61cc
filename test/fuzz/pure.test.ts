import { test } from 'vitest';
import { ALL } from './all.ts';
import { mustHold } from './fuzz.ts';

test.each(ALL.filter(({ served }) => !served))('$name', async (fuzz) => mustHold(fuzz));
