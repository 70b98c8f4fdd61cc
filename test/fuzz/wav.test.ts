import { test } from 'vitest';
import { mustHold } from './fuzz.ts';
import { anyWavFiles, validWavFiles } from './wav.ts';

test.each([validWavFiles, anyWavFiles])('$name', async (fuzz) => mustHold(fuzz));
