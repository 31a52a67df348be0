#!/usr/bin/env node
import { type PrintLine, type RunningCommand, runFleet, runLoad, runTerminal } from './cli-commands.ts';
import { helpText } from './cli-help.ts';
import { type CliOptions, parseCliOptions } from './cli-options.ts';
import { UsageError } from './usage-error.ts';

const print: PrintLine = (line) => {
  process.stdout.write(`${line}\n`);
};

function run(options: Exclude<CliOptions, { command: 'help' }>): Promise<RunningCommand> {
  if (options.command === 'fleet') return runFleet(options, print);
  return options.command === 'terminal' ? runTerminal(options, print) : runLoad(options, print);
}

async function main(): Promise<void> {
  const options = parseCliOptions(process.argv.slice(2));
  if (options.command === 'help') {
    print(helpText);
    return;
  }
  let running: RunningCommand | null = null;
  let isStopping = false;
  const stop = (): void => {
    // Exit immediately if nothing runs yet (clips are being created), or on a second signal.
    if (running === null || isStopping) process.exit(isStopping ? 1 : 0);
    isStopping = true;
    running.stop().then(
      () => process.exit(0),
      () => process.exit(1),
    );
  };
  process.on('SIGTERM', stop);
  process.on('SIGINT', stop);
  // The launcher that started this process has exited, so nothing else would stop it.
  process.on('disconnect', stop);
  running = await run(options);
}

main().catch((error: unknown) => {
  const isUsage = error instanceof UsageError;
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
  if (isUsage) process.stderr.write('See --help.\n');
  process.exit(isUsage ? 2 : 1);
});
