import { test } from 'vitest';
import { anyForms, rightForms } from './forms.ts';
import { mustHold } from './fuzz.ts';

test.each([rightForms, anyForms])('$name', async (fuzz) => mustHold(fuzz));
