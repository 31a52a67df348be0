import { isCommandText } from './command-texts.ts';
import type { DeviceCommand, DeviceCommandOf } from './device-command.ts';

/** The part of a command that decides whether it is critical; every `DeviceCommand` has it. */
export type ClassifiedCommand =
  | Pick<DeviceCommandOf<'terminalControl'>, 'kind' | 'command'>
  | Pick<DeviceCommandOf<'sendText'>, 'kind' | 'text'>
  | { readonly kind: 'setParameters'; readonly parameters: readonly { readonly id: number }[] }
  | { readonly kind: Exclude<DeviceCommand['kind'], 'terminalControl' | 'sendText' | 'setParameters'> };

/**
 * Shutdown, restart, end of the data connection, end of all radio: the only non-critical controls that JT/T 808
 * defines.
 */
const standardControls: ReadonlySet<number> = new Set([3, 4, 6, 7]);

type Range = readonly [first: number, last: number];

/**
 * Parameters that move a terminal to another server, or decide who may reset it, command it or listen in by telephone.
 */
const criticalParameters: readonly Range[] = [
  // Access points, users, passwords, addresses and ports of the servers, and the servers of the IC card.
  [0x0010, 0x001d],
  // The same for the secondary server, since 2019.
  [0x0023, 0x0026],
  // Telephone numbers of the platform, for resets and for text commands.
  [0x0040, 0x0044],
  // Numbers that may listen in and send privileged text commands.
  [0x0048, 0x0049],
  // Reserved and vendor ids, whose meaning is unknown, except the settings of active safety (T/JSATL 12).
  [0x0200, 0xf363],
  [0xf368, 0xffff_ffff],
];

const isCriticalParameter = (id: number): boolean =>
  criticalParameters.some(([first, last]) => id >= first && id <= last);

/**
 * Returns true for a command that can move a terminal to another server, reset it, change its firmware or lock it out.
 */
export function isCriticalCommand(command: ClassifiedCommand): boolean {
  switch (command.kind) {
    case 'terminalControl':
      return !standardControls.has(command.command);
    case 'setParameters':
      return command.parameters.some(({ id }) => isCriticalParameter(id));
    case 'sendText':
      return isCommandText(command.text);
    // Any message is possible.
    case 'raw':
      return true;
    case 'wakeUp':
    case 'startLive':
    case 'controlLive':
    case 'startPlayback':
    case 'controlPlayback':
    case 'listRecordings':
    case 'requestUpload':
    case 'controlUpload':
    case 'queryAvAttributes':
    case 'takePictures':
    case 'queryParameters':
    case 'queryAttributes':
    case 'queryLocation':
    case 'confirmAlarm':
    case 'requestAttachments':
    case 'controlDoors':
      return false;
    default:
      command satisfies never;
      // Sent by a newer release with a kind that this one does not know.
      return true;
  }
}

/** Levels of commands that a partner may send to terminals, from least to most. */
export const partnerCommandLevels = ['none', 'standard', 'critical'] as const;
export type PartnerCommandLevel = (typeof partnerCommandLevels)[number];

/** Level of a partner whose record has none. */
export const defaultCommandLevel: PartnerCommandLevel = 'standard';

/** Returns true if a level allows a command. */
export const isCommandAllowed = (level: PartnerCommandLevel, isCritical: boolean): boolean =>
  level === 'critical' || (level === 'standard' && !isCritical);
