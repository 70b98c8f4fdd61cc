import { test } from 'vitest';
import { controlMessages } from './control-messages.ts';
import { mustHold } from './fuzz.ts';

test(controlMessages.name, async () => mustHold(controlMessages));
