import type { Outcome } from '../device-command.ts';

/** Returns an outcome with a number that identifies the reply. */
export const replyWith = (commandSerialNo: number): Outcome => ({
  kind: 'answered',
  answer: { commandMessageId: 0x9101, commandSerialNo, result: 0, message: null },
});

let lastNumber = Math.trunc(Math.random() * 1e9);

/** Returns a terminal number that no other test uses. */
export function newImei(): string {
  lastNumber += 1;
  return `9${String(process.pid).padStart(7, '0')}${String(lastNumber % 1e10).padStart(10, '0')}`;
}
