import { parseArgs } from 'node:util';
import { type Edition, editions } from '@fleet/jt808';
import type { AttachmentOptions } from './attachments/attachment-options.ts';
import type { Behaviour } from './behaviour.ts';
import { builtInTracks } from './built-in-tracks.ts';
import {
  alarmHelp,
  alarmOptionDefinitions,
  parseAlarmOption,
  parseAttachmentOptions,
  type RepeatedAlarm,
} from './cli-alarm-options.ts';
import { parseUploadOptions, uploadHelp, uploadOptionDefinitions } from './cli-upload-options.ts';
import { getDefaultCacheDir } from './media/clip.ts';
import type { AudioCodec, VideoCodec } from './media/clip-spec.ts';
import type { ListOptions } from './terminal-options.ts';
import type { UploadOptions } from './uploads/upload-options.ts';
import { UsageError } from './usage-error.ts';

/** Address of the platform. */
interface ServerOptions {
  host: string;
  port: number;
}

/** Cameras of the terminals. */
interface CameraOptions {
  channels: number;
  video: VideoCodec;
  audio: AudioCodec;
  cacheDir: string;
  mediaHost: string | undefined;
  recordings: number;
  /** Options for recordings, their lists, uploads and the files of alarms. */
  terminalOptions: UploadOptions & ListOptions & AttachmentOptions;
  /** Alarm to raise periodically. */
  alarm: RepeatedAlarm | undefined;
}

/** `fleet`: a few complete vehicles. */
export interface FleetOptions extends ServerOptions, CameraOptions {
  command: 'fleet';
  phones: string[];
  reportIntervalMs: number;
  reportFile: string | undefined;
}

/** `terminal`: one complete vehicle, with a behaviour. */
export interface TerminalCommandOptions extends ServerOptions, CameraOptions {
  command: 'terminal';
  phone: string;
  edition: Edition | undefined;
  track: string | undefined;
  reportIntervalMs: number;
  behaviour: Behaviour;
}

/** `load`: thousands of lightweight terminals. */
export interface LoadOptions extends ServerOptions {
  command: 'load';
  terminals: number;
  intervalMs: number;
  edition: Edition;
  firstPhone: string;
  connectRate: number;
}

/** Parsed command line. */
export type CliOptions = FleetOptions | TerminalCommandOptions | LoadOptions | { command: 'help' };

const programName = 'node libs/terminal-simulator/dist/cli.js';

/** Text of --help. */
export const helpText = `Simulated JT/T 808 terminals with JT/T 1078 cameras.

  simulator fleet    --host H --port P [--terminals 3] [--channels 2] [--phones N,N,...] [--report-file FILE]
  simulator terminal --host H --port P --phone NUMBER [--edition 2011|2013|2019] [--behaviour NAME]
  simulator load     --host H --port P [--terminals 5000] [--interval 30s]

All:
  --host H            platform's address (127.0.0.1)          --port P   its JT/T 808 port (7808)
  --help              this text
fleet and terminal:
  --channels N        cameras of each terminal (2)            --interval T       a location each T (10s)
  --video h264|h265   --audio g711a|g711u|g726|adpcm|aac|aac-raw|none
  --media-host H      stream to H instead of the host in the request
  --recordings N      one-minute recordings on each camera's disk at the start (60); the cameras then
                      record continuously and retain one day. 0: no recordings
  --list-chunk N      send lists of recordings in several whole messages of N items
  --cache-dir DIR     directory of generated clips (.cache/clips)
${uploadHelp}
${alarmHelp}
fleet:
  --terminals N       vehicles (3); every third is of edition 2019, the others of 2013
  --phones A,B        terminal numbers, instead of 013800138001 ...
  --report-file FILE  written once all are online: [{"imei","edition","channels"}]
terminal:
  --phone NUMBER      12 or 20 digits                         --track NAME       ${Object.keys(builtInTracks).join(', ')}
  --behaviour NAME    normal, sleeping, silent, mute, slow, refusing, twice, wrongSerial,
                      badChecksum, noise, halfGlued, cutBody, disconnecting, neverReading, halfOpen
  --delay T           of slow (5s)                            --result 1|2|3     of refusing (1)
  --wake-after N      attempts after which a sleeping terminal wakes (3), or
  --wake-time T       delay from the first attempt            --catch-up         respond to queued messages
load:
  --terminals N       (1000)                                  --connect-rate N   new connections per second (500)
  --edition E         (2013)                                  --first-phone N    number of the first (019000000000)

Examples:
  ${programName} fleet --port 7808 --terminals 3 --report-file fleet.json
  ${programName} terminal --port 7808 --phone 013800138009 --behaviour slow --delay 20s
  ${programName} load --port 7808 --terminals 5000 --interval 30s

Ctrl-C stops. ffmpeg (FFMPEG_PATH or the PATH) generates the clips once; they are then cached.`;

/** All options, in the form that `parseArgs` requires. */
export const optionDefinitions = {
  help: { type: 'boolean', short: 'h' },
  host: { type: 'string' },
  port: { type: 'string' },
  terminals: { type: 'string' },
  channels: { type: 'string' },
  phones: { type: 'string' },
  phone: { type: 'string' },
  edition: { type: 'string' },
  interval: { type: 'string' },
  video: { type: 'string' },
  audio: { type: 'string' },
  'media-host': { type: 'string' },
  recordings: { type: 'string' },
  'cache-dir': { type: 'string' },
  'report-file': { type: 'string' },
  track: { type: 'string' },
  behaviour: { type: 'string' },
  delay: { type: 'string' },
  result: { type: 'string' },
  'wake-after': { type: 'string' },
  'wake-time': { type: 'string' },
  'catch-up': { type: 'boolean' },
  'list-chunk': { type: 'string' },
  'connect-rate': { type: 'string' },
  'first-phone': { type: 'string' },
  ...uploadOptionDefinitions,
  ...alarmOptionDefinitions,
} as const;

type Names = typeof optionDefinitions;
type TextName = {
  [K in keyof Names]: Names[K] extends { type: 'string'; multiple?: never } ? K : never;
}[keyof Names];
type Values = { [K in TextName]?: string | undefined } & {
  'catch-up'?: boolean | undefined;
  'upload-tls'?: boolean | undefined;
  'upload-no-quit'?: boolean | undefined;
  'upload-break'?: string[] | undefined;
};

/** Parses a duration such as 500ms, 30s or 2m. */
export function parseDurationMs(text: string, name: string): number {
  const match = /^(\d+(?:\.\d+)?)(ms|s|m)$/.exec(text);
  if (match === null) throw new UsageError(`--${name} "${text}" is not a duration such as 500ms, 30s or 2m`);
  const unit = { ms: 1, s: 1000, m: 60_000 }[match[2] as 'ms' | 's' | 'm'];
  return Number(match[1]) * unit;
}

function parseInteger(values: Values, name: TextName, fallback: number, [min, max]: readonly [number, number]): number {
  const text = values[name];
  if (text === undefined) return fallback;
  const value = Number(text);
  if (!Number.isInteger(value) || value < min || value > max) {
    throw new UsageError(`--${name} "${text}" is not an integer from ${min} to ${max}`);
  }
  return value;
}

function parseChoice<T extends string>(values: Values, name: TextName, fallback: T, allowed: readonly T[]): T {
  const text = values[name];
  if (text === undefined) return fallback;
  const value = allowed.find((candidate) => candidate === text);
  if (value === undefined) throw new UsageError(`--${name} "${text}" is not one of ${allowed.join(', ')}`);
  return value;
}

function parseDuration(values: Values, name: TextName, fallbackMs: number): number {
  const text = values[name];
  return text === undefined ? fallbackMs : parseDurationMs(text, name);
}

function parsePhone(text: string): string {
  if (!/^\d{12}$|^\d{20}$/.test(text)) throw new UsageError(`terminal number "${text}" must have 12 or 20 digits`);
  return text;
}

/** Returns the numbers of the demo vehicles: every third is a 2019 terminal with 20 digits. */
export function createDemoPhones(count: number): string[] {
  return Array.from({ length: count }, (_unused, index) => {
    const number = `0138001${String(38_001 + index).padStart(5, '0')}`;
    return index % 3 === 2 ? number.padStart(20, '0') : number;
  });
}

function parseServerOptions(values: Values): ServerOptions {
  return { host: values.host ?? '127.0.0.1', port: parseInteger(values, 'port', 7808, [1, 65_535]) };
}

function parseCameraOptions(values: Values): CameraOptions {
  return {
    channels: parseInteger(values, 'channels', 2, [0, 16]),
    video: parseChoice(values, 'video', 'h264', ['h264', 'h265']),
    audio: parseChoice(values, 'audio', 'g711a', ['g711a', 'g711u', 'g726', 'adpcm', 'aac', 'aac-raw', 'none']),
    cacheDir: values['cache-dir'] ?? getDefaultCacheDir(),
    mediaHost: values['media-host'],
    recordings: parseInteger(values, 'recordings', 60, [0, 20_000]),
    terminalOptions: {
      ...parseUploadOptions(
        values,
        values['upload-retry'] === undefined ? undefined : parseDuration(values, 'upload-retry', 0),
      ),
      ...parseAttachmentOptions(values),
      ...(values['list-chunk'] === undefined
        ? {}
        : { listItemsPerMessage: parseInteger(values, 'list-chunk', 1, [1, 1000]) }),
    },
    alarm: parseAlarmOption(values, parseDuration(values, 'alarm-every', 60_000)),
  };
}

function parseFleetOptions(values: Values): FleetOptions {
  const phones = values.phones?.split(',').map(parsePhone);
  return {
    command: 'fleet',
    ...parseServerOptions(values),
    ...parseCameraOptions(values),
    phones: phones ?? createDemoPhones(parseInteger(values, 'terminals', 3, [1, 200])),
    reportIntervalMs: parseDuration(values, 'interval', 10_000),
    reportFile: values['report-file'],
  };
}

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

function parseBehaviour(values: Values): Behaviour {
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

function parseTerminalOptions(values: Values): TerminalCommandOptions {
  if (values.phone === undefined) throw new UsageError('--phone is missing: 12 or 20 digits');
  const edition = values.edition === undefined ? undefined : parseChoice(values, 'edition', '2013', editions);
  return {
    command: 'terminal',
    ...parseServerOptions(values),
    ...parseCameraOptions(values),
    phone: parsePhone(values.phone),
    edition,
    track: values.track === undefined ? undefined : parseChoice(values, 'track', '', Object.keys(builtInTracks)),
    reportIntervalMs: parseDuration(values, 'interval', 10_000),
    behaviour: parseBehaviour(values),
  };
}

function parseLoadOptions(values: Values): LoadOptions {
  const firstPhone = parsePhone(values['first-phone'] ?? '019000000000');
  return {
    command: 'load',
    ...parseServerOptions(values),
    terminals: parseInteger(values, 'terminals', 1000, [1, 60_000]),
    intervalMs: parseDuration(values, 'interval', 30_000),
    edition: parseChoice(values, 'edition', firstPhone.length === 20 ? '2019' : '2013', editions),
    firstPhone,
    connectRate: parseInteger(values, 'connect-rate', 500, [1, 20_000]),
  };
}

function parseCommandLine(args: readonly string[]) {
  try {
    return parseArgs({ args: [...args], options: optionDefinitions, allowPositionals: true, strict: true });
  } catch (error) {
    throw new UsageError(error instanceof Error ? error.message : String(error));
  }
}

/** Parses the command line; throws UsageError. */
export function parseCliOptions(args: readonly string[]): CliOptions {
  const { values, positionals } = parseCommandLine(args);
  const { help, ...rest } = values;
  const [command, ...others] = positionals;
  if (help === true || command === 'help') return { command: 'help' };
  if (others.length > 0) throw new UsageError(`unexpected "${others.join(' ')}"`);
  if (command === 'fleet') return parseFleetOptions(rest);
  if (command === 'terminal') return parseTerminalOptions(rest);
  if (command === 'load') return parseLoadOptions(rest);
  throw new UsageError(
    command === undefined ? 'missing command: fleet, terminal or load' : `unknown command "${command}"`,
  );
}
