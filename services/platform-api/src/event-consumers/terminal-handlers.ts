import { deviceDetailHandlers } from './device-details.ts';
import { keepDriverCards } from './driver-cards.ts';
import { keepMediaEvents } from './media.ts';
import type { TerminalHandler } from './terminal-messages.ts';

/** Handlers of uplink messages other than locations; write a short one here, and a long one in a file of its own. */
export const terminalHandlers: readonly TerminalHandler[] = [...deviceDetailHandlers, keepDriverCards, keepMediaEvents];
