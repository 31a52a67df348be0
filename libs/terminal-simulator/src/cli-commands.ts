import { mkdir, rename, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { cameraFiles } from './attachments/camera-files.ts';
import { builtInTracks } from './built-in-tracks.ts';
import { prepareClips } from './camera-clips.ts';
import type { RepeatedAlarm } from './cli-alarm-options.ts';
import type { FleetOptions, LoadOptions, TerminalCommandOptions } from './cli-options.ts';
import { demoTerminal } from './demo-terminal.ts';
import { LightFleet } from './light-fleet.ts';
import type { SimulatedTerminal } from './terminal.ts';

/** A running command: how to stop it. */
export interface RunningCommand {
  stop(): Promise<void>;
}

/** Writes lines for the person who watches. */
export type Say = (line: string) => void;

/** Written in one go, so that whoever waits for the file never reads half of it. */
async function writeWhole(file: string, content: string): Promise<void> {
  await mkdir(path.dirname(path.resolve(file)), { recursive: true });
  await writeFile(`${file}.part`, content);
  await rename(`${file}.part`, file);
}

/** Makes all clips, saying so: the first time takes a few seconds. */
async function prepare(terminals: readonly SimulatedTerminal[], say: Say): Promise<void> {
  const startedAt = Date.now();
  for (const [index, terminal] of terminals.entries()) {
    const { clips, channels } = terminal.options;
    if (clips === undefined) continue;
    await prepareClips(clips, channels);
    say(`cameras of ${terminal.phone} are ready (${index + 1} of ${terminals.length})`);
  }
  say(`all clips ready after ${((Date.now() - startedAt) / 1000).toFixed(1)} s`);
}

async function writeReport(terminals: readonly SimulatedTerminal[], file: string): Promise<void> {
  const list = terminals.map(({ phone, options }) => ({
    imei: phone,
    edition: options.edition,
    channels: options.channels,
  }));
  await writeWhole(file, `${JSON.stringify(list, null, 2)}\n`);
}

/** Raises an alarm as soon as a terminal is online, and then again and again; answers how to end that. */
function raiseAgain(terminal: SimulatedTerminal, alarm: RepeatedAlarm | undefined, say: Say): () => void {
  if (alarm === undefined) return () => undefined;
  const { kind, type, everyMs } = alarm;
  const raise = async (): Promise<void> => {
    if (!terminal.isOnline) return;
    const files = await cameraFiles(terminal);
    terminal.raiseSafetyAlarm({ kind, type, level: 2, files });
    say(`${terminal.phone} raises ${kind}:${type} with ${files.length} files`);
  };
  const safely = (): void => {
    raise().catch((error: unknown) => say(`no alarm: ${error instanceof Error ? error.message : String(error)}`));
  };
  terminal.once('online', safely);
  const timer = setInterval(safely, everyMs);
  return () => clearInterval(timer);
}

const FOR_EVER_MS = 2 ** 31 - 1;

/** `fleet`: complete vehicles that come back for ever. */
export async function runFleet(options: FleetOptions, say: Say): Promise<RunningCommand> {
  const terminals = options.phones.map((phone, index) => {
    const { host, port, reportIntervalMs } = options;
    const connection = { host, port, phone, reportIntervalMs, onLog: say, logLimit: 1000, ...options.habits };
    return demoTerminal(connection, { ...options, index, onProgress: say });
  });
  await prepare(terminals, say);
  const ends = terminals.map((terminal) => raiseAgain(terminal, options.alarm, say));
  for (const terminal of terminals) terminal.start();
  const report = async (): Promise<void> => {
    await Promise.all(terminals.map((terminal) => terminal.waitUntilOnline(FOR_EVER_MS)));
    if (options.reportFile !== undefined) await writeReport(terminals, options.reportFile);
    say(`${terminals.length} terminals online`);
  };
  report().catch((error: unknown) => say(`no report: ${error instanceof Error ? error.message : String(error)}`));
  return {
    stop: async () => {
      for (const end of ends) end();
      await Promise.all(terminals.map((terminal) => terminal.stop()));
    },
  };
}

/** `terminal`: one vehicle with a behaviour. */
export async function runTerminal(options: TerminalCommandOptions, say: Say): Promise<RunningCommand> {
  const { host, port, phone, edition, reportIntervalMs } = options;
  const track = options.track === undefined ? undefined : builtInTracks[options.track];
  const own = { ...(track ? { track } : {}), ...options.habits };
  const connection = { host, port, phone, edition, reportIntervalMs, onLog: say, ...own };
  const terminal = demoTerminal(connection, { ...options, index: 0, onProgress: say });
  await prepare([terminal], say);
  terminal.on('message', ({ messageId, serial }) => {
    if (messageId !== 0x8001) say(`${phone} <- 0x${messageId.toString(16).padStart(4, '0')} serial ${serial}`);
  });
  terminal.behave(options.behaviour);
  const end = raiseAgain(terminal, options.alarm, say);
  terminal.start();
  return {
    stop: () => {
      end();
      return terminal.stop();
    },
  };
}

const STATUS_MS = 5000;

/** `load`: light terminals, with a line of figures every few seconds. */
export async function runLoad(options: LoadOptions, say: Say): Promise<RunningCommand> {
  const fleet = new LightFleet(options);
  const timer = setInterval(() => {
    const { online, reportsSent, reportsAcknowledged, reconnects } = fleet.counters;
    const rss = Math.round(process.memoryUsage.rss() / 2 ** 20);
    say(
      `online ${online} of ${options.terminals}, reports ${reportsSent}, acknowledged ${reportsAcknowledged}, reconnects ${reconnects}, ${rss} MiB`,
    );
  }, STATUS_MS);
  fleet.start();
  return {
    stop: () => {
      clearInterval(timer);
      return fleet.stop();
    },
  };
}
