import type { components } from '@fleet/api-client';

export type Command = components['schemas']['Command'];
export type CommandType = Command['type'];

/** One field of the form of a command. */
export type CommandField =
  | { readonly kind: 'text'; readonly name: string; readonly maxLength: number; readonly isOptional?: boolean }
  | {
      readonly kind: 'number';
      readonly name: string;
      readonly min: number;
      readonly max: number;
      readonly preset: number;
    }
  | { readonly kind: 'choice'; readonly name: string; readonly values: readonly number[]; readonly preset: number }
  | { readonly kind: 'word'; readonly name: string; readonly values: readonly string[] }
  | { readonly kind: 'flag'; readonly name: string; readonly preset: boolean }
  | { readonly kind: 'time'; readonly name: string }
  /** Terminal parameters, one `id = value` in each line. */
  | { readonly kind: 'parameters'; readonly name: string }
  /** Ids of parameters, separated by commas. */
  | { readonly kind: 'ids'; readonly name: string };

const channel = { kind: 'number', name: 'channel', min: 1, max: 37, preset: 1 } as const;
const clipFields = [
  channel,
  { kind: 'time', name: 'start_time' },
  { kind: 'time', name: 'end_time' },
  { kind: 'choice', name: 'resource_type', values: [0, 1, 2, 3], preset: 3 },
  { kind: 'choice', name: 'stream_type', values: [0, 1, 2], preset: 0 },
  { kind: 'choice', name: 'memory_type', values: [0, 1, 2], preset: 0 },
] as const satisfies readonly CommandField[];

/** Codes of the terminal control (0x8105) that need no text of their own. */
const controlCodes = [1, 2, 3, 4, 5, 6, 7] as const;

/** Fields of every command that the API accepts, in the order of the form. */
export const commandFields: Readonly<Record<CommandType, readonly CommandField[]>> = {
  text: [
    { kind: 'text', name: 'text', maxLength: 1024 },
    { kind: 'flag', name: 'emergency', preset: false },
    { kind: 'flag', name: 'display_by_terminal', preset: true },
    { kind: 'flag', name: 'tts', preset: true },
  ],
  locate: [],
  wakeup: [],
  query_attributes: [],
  query_parameters: [{ kind: 'ids', name: 'ids' }],
  set_parameters: [{ kind: 'parameters', name: 'parameters' }],
  capture: [
    channel,
    { kind: 'number', name: 'count', min: 1, max: 100, preset: 1 },
    { kind: 'number', name: 'interval_seconds', min: 0, max: 65_535, preset: 0 },
    { kind: 'number', name: 'quality', min: 1, max: 10, preset: 5 },
    { kind: 'flag', name: 'film', preset: false },
  ],
  resource_list: clipFields,
  upload: [
    ...clipFields,
    { kind: 'flag', name: 'wifi', preset: true },
    { kind: 'flag', name: 'lan', preset: true },
    { kind: 'flag', name: 'mobile_network', preset: true },
  ],
  live_start: [
    channel,
    { kind: 'choice', name: 'data_type', values: [0, 1, 2, 3, 4, 5], preset: 0 },
    { kind: 'choice', name: 'stream_type', values: [0, 1], preset: 1 },
  ],
  live_stop: [channel, { kind: 'choice', name: 'close_type', values: [0, 1, 2], preset: 0 }],
  vehicle_control: [{ kind: 'word', name: 'doors', values: ['lock', 'unlock'] }],
  control: [
    { kind: 'choice', name: 'command', values: controlCodes, preset: 4 },
    { kind: 'text', name: 'parameters', maxLength: 1022, isOptional: true },
  ],
  raw: [
    { kind: 'text', name: 'message_id', maxLength: 6 },
    { kind: 'text', name: 'body_hex', maxLength: 32_768, isOptional: true },
  ],
};

export const commandTypes = Object.keys(commandFields) as readonly CommandType[];
