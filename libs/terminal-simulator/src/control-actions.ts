import { captureCameraFiles } from './attachments/camera-files.ts';
import type { SimulatedTerminal } from './terminal.ts';

/** DSM alarm types of the active-safety extension: 1 fatigue, 2 phone. */
const [fatigue, phoneCall] = [1, 2];

async function raiseDriverAlarm(terminal: SimulatedTerminal, type: number): Promise<void> {
  terminal.raiseSafetyAlarm({ kind: 'dsm', type, level: 2, files: await captureCameraFiles(terminal) });
}

/** What a user of a demo can make a vehicle do. Each action needs a connected terminal, except `wake`. */
export const controlActions = {
  /** Presses the emergency button; the platform's acknowledgement releases it. */
  sos: (terminal: SimulatedTerminal) => void terminal.raiseAlarm('emergency'),
  phone_call: (terminal: SimulatedTerminal) => raiseDriverAlarm(terminal, phoneCall),
  fatigue: (terminal: SimulatedTerminal) => raiseDriverAlarm(terminal, fatigue),
  collision: (terminal: SimulatedTerminal) => {
    terminal.raiseAlarm('collision');
    terminal.clearAlarm('collision');
  },
  /** Falls asleep: the connection stays open and nothing is read until the second wake-up. */
  sleep: (terminal: SimulatedTerminal) => terminal.setBehaviour({ kind: 'sleeping', wakeAfterTries: 2 }),
  /** Refuses commands with result 3, "not supported". */
  refuse: (terminal: SimulatedTerminal) => terminal.setBehaviour({ kind: 'refusing', result: 3 }),
  /** Loses the connection, and reconnects with the usual backoff. */
  disconnect: (terminal: SimulatedTerminal) => terminal.dropConnection(),
  /** Restores the normal behaviour. */
  wake: (terminal: SimulatedTerminal) => terminal.resetBehaviour(),
} satisfies Record<string, (terminal: SimulatedTerminal) => void | Promise<void>>;

/** Name of an action. */
type ControlAction = keyof typeof controlActions;

/** Returns whether a text is the name of an action. */
export const isControlAction = (name: string): name is ControlAction => Object.hasOwn(controlActions, name);
