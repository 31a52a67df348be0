import { parseArgs } from 'node:util';
import { type Edition, editions } from '@fleet/jt808';
import type { AttachmentOptions } from './attachments/attachment-options.ts';
import type { Behaviour } from './behaviour.ts';
import { builtInTracks } from './built-in-tracks.ts';
import { parseAlarmOption, parseAttachmentOptions, type RepeatedAlarm } from './cli-alarm-options.ts';
import { parseBehaviour } from './cli-behaviour-options.ts';
import { parseUploadOptions } from './cli-upload-options.ts';
import { optionDefinitions, parseChoice, parseDuration, parseInteger, parsePhone, type Values } from './cli-values.ts';
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
  controlPort: number | undefined;
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
    controlPort:
      values['control-port'] === undefined ? undefined : parseInteger(values, 'control-port', 0, [1, 65_535]),
  };
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
