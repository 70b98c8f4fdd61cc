/** A process of hostile clients: `attacker.js ORIGIN NAME`. It ends with the process that started it. */
import { ATTACKS, AttackUnderWay } from '../support/clients/attacks.ts';

const [origin = '', name] = process.argv.slice(2);
const attack = ATTACKS.find((known) => known.name === name);
if (attack === undefined) throw new Error(`no attack "${name}"`);
const underWay = new AttackUnderWay(origin, attack);
process.once('disconnect', () => underWay.stop());
