import { mkdir, rename, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { captureCameraFiles } from './attachments/camera-files.ts';
import { builtInTracks } from './built-in-tracks.ts';
import { prepareClips } from './camera-clips.ts';
import type { RepeatedAlarm } from './cli-alarm-options.ts';
import type { FleetOptions, LoadOptions, TerminalCommandOptions } from './cli-options.ts';
import { createControlServer } from './control-server.ts';
import { createDemoTerminal } from './demo-terminal.ts';
import { LoadFleet } from './load-fleet.ts';
import type { SimulatedTerminal } from './terminal.ts';

/** A running command. */
export interface RunningCommand {
  stop(): Promise<void>;
}

/** Prints a line for the user. */
export type PrintLine = (line: string) => void;

/** Writes a file atomically, so that a reader never sees a part of it. */
async function writeAtomically(file: string, content: string): Promise<void> {
  await mkdir(path.dirname(path.resolve(file)), { recursive: true });
  await writeFile(`${file}.part`, content);
  await rename(`${file}.part`, file);
}

/** Creates all clips and prints the progress: the first time takes a few seconds. */
async function prepareTerminals(terminals: readonly SimulatedTerminal[], print: PrintLine): Promise<void> {
  const startedAt = Date.now();
  for (const [index, terminal] of terminals.entries()) {
    const { clips, channels } = terminal.options;
    if (clips === undefined) continue;
    await prepareClips(clips, channels);
    print(`cameras of ${terminal.phone} are ready (${index + 1} of ${terminals.length})`);
  }
  print(`all clips ready after ${((Date.now() - startedAt) / 1000).toFixed(1)} s`);
}

async function writeReport(terminals: readonly SimulatedTerminal[], file: string): Promise<void> {
  const list = terminals.map(({ phone, options }) => ({
    imei: phone,
    edition: options.edition,
    channels: options.channels,
  }));
  await writeAtomically(file, `${JSON.stringify(list, null, 2)}\n`);
}

/** Raises an alarm once a terminal is online and then periodically; returns a function that stops it. */
function raisePeriodically(
  terminal: SimulatedTerminal,
  alarm: RepeatedAlarm | undefined,
  print: PrintLine,
): () => void {
  if (alarm === undefined) return () => undefined;
  const { kind, type, everyMs } = alarm;
  const raise = async (): Promise<void> => {
    if (!terminal.isOnline) return;
    const files = await captureCameraFiles(terminal);
    terminal.raiseSafetyAlarm({ kind, type, level: 2, files });
    print(`${terminal.phone} raised ${kind}:${type} with ${files.length} files`);
  };
  const raiseSafely = (): void => {
    raise().catch((error: unknown) =>
      print(`could not raise the alarm: ${error instanceof Error ? error.message : String(error)}`),
    );
  };
  terminal.once('online', raiseSafely);
  const timer = setInterval(raiseSafely, everyMs);
  return () => clearInterval(timer);
}

const maxTimerMs = 2 ** 31 - 1;

/** Runs `fleet`: complete vehicles that always reconnect. */
export async function runFleet(options: FleetOptions, print: PrintLine): Promise<RunningCommand> {
  const terminals = options.phones.map((phone, index) => {
    const { host, port, reportIntervalMs } = options;
    const connection = {
      host,
      port,
      phone,
      reportIntervalMs,
      onLog: print,
      logLimit: 1000,
      ...options.terminalOptions,
    };
    return createDemoTerminal(connection, { ...options, index, onProgress: print });
  });
  await prepareTerminals(terminals, print);
  const stopAlarms = terminals.map((terminal) => raisePeriodically(terminal, options.alarm, print));
  for (const terminal of terminals) terminal.start();
  const control = options.controlPort === undefined ? undefined : createControlServer(terminals);
  control?.listen(options.controlPort, '127.0.0.1');
  const report = async (): Promise<void> => {
    await Promise.all(terminals.map((terminal) => terminal.waitUntilOnline(maxTimerMs)));
    if (options.reportFile !== undefined) await writeReport(terminals, options.reportFile);
    print(`${terminals.length} terminals online`);
  };
  report().catch((error: unknown) =>
    print(`could not write the report: ${error instanceof Error ? error.message : String(error)}`),
  );
  return {
    stop: async () => {
      for (const stopAlarm of stopAlarms) stopAlarm();
      control?.closeAllConnections();
      control?.close();
      await Promise.all(terminals.map((terminal) => terminal.stop()));
    },
  };
}

/** Runs `terminal`: one vehicle with a behaviour. */
export async function runTerminal(options: TerminalCommandOptions, print: PrintLine): Promise<RunningCommand> {
  const { host, port, phone, edition, reportIntervalMs } = options;
  const track = options.track === undefined ? undefined : builtInTracks[options.track];
  const terminalOptions = { ...(track ? { track } : {}), ...options.terminalOptions };
  const connection = { host, port, phone, edition, reportIntervalMs, onLog: print, ...terminalOptions };
  const terminal = createDemoTerminal(connection, { ...options, index: 0, onProgress: print });
  await prepareTerminals([terminal], print);
  terminal.on('message', ({ messageId, serial }) => {
    if (messageId !== 0x8001) print(`${phone} <- 0x${messageId.toString(16).padStart(4, '0')} serial ${serial}`);
  });
  terminal.setBehaviour(options.behaviour);
  const stopAlarm = raisePeriodically(terminal, options.alarm, print);
  terminal.start();
  return {
    stop: () => {
      stopAlarm();
      return terminal.stop();
    },
  };
}

const statusIntervalMs = 5000;

/** Runs `load`: lightweight terminals, with a status line every few seconds. */
export async function runLoad(options: LoadOptions, print: PrintLine): Promise<RunningCommand> {
  const fleet = new LoadFleet(options);
  const timer = setInterval(() => {
    const { online, reportsSent, reportsAcknowledged, reconnects } = fleet.counters;
    const rss = Math.round(process.memoryUsage.rss() / 2 ** 20);
    print(
      `online ${online} of ${options.terminals}, reports ${reportsSent}, acknowledged ${reportsAcknowledged}, reconnects ${reconnects}, ${rss} MiB`,
    );
  }, statusIntervalMs);
  fleet.start();
  return {
    stop: () => {
      clearInterval(timer);
      return fleet.stop();
    },
  };
}
