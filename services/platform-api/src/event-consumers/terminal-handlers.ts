import { deviceDetailHandlers } from './device-details.ts';
import { driverCardHandler } from './driver-cards.ts';
import { multimediaEventHandler } from './media.ts';
import type { TerminalHandler } from './terminal-messages.ts';

/** Handlers of uplink messages other than locations; write a short one here, and a long one in a file of its own. */
export const terminalHandlers: readonly TerminalHandler[] = [
  ...deviceDetailHandlers,
  driverCardHandler,
  multimediaEventHandler,
];
