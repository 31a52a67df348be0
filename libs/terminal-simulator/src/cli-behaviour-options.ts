import type { Behaviour } from './behaviour.ts';
import { parseChoice, parseDuration, parseInteger, type Values } from './cli-values.ts';

const behaviourKinds = [
  'normal',
  'sleeping',
  'silent',
  'mute',
  'slow',
  'refusing',
  'twice',
  'wrongSerial',
  'badChecksum',
  'noise',
  'halfGlued',
  'cutBody',
  'disconnecting',
  'neverReading',
  'halfOpen',
] as const;

function parseSleepingBehaviour(values: Values): Behaviour {
  if (values['wake-time'] === undefined) {
    return { kind: 'sleeping', wakeAfterTries: parseInteger(values, 'wake-after', 3, [1, 1000]) };
  }
  return {
    kind: 'sleeping',
    wakeAfterMs: parseDuration(values, 'wake-time', 0),
    catchesUp: values['catch-up'] === true,
  };
}

/** Returns the behaviour of the terminal. Throws UsageError. */
export function parseBehaviour(values: Values): Behaviour {
  const kind = parseChoice(values, 'behaviour', 'normal', behaviourKinds);
  switch (kind) {
    case 'slow':
      return { kind, delayMs: parseDuration(values, 'delay', 5000) };
    case 'refusing':
      return { kind, result: parseInteger(values, 'result', 1, [1, 3]) as 1 | 2 | 3 };
    case 'sleeping':
      return parseSleepingBehaviour(values);
    case 'disconnecting':
      return { kind, when: 'before' };
    case 'badChecksum':
    case 'noise':
    case 'halfGlued':
    case 'cutBody':
      return { kind: 'garbage', form: kind };
    default:
      return { kind };
  }
}
