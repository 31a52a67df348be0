import { banner } from './banner.ts';
import { launch, type Product } from './launcher.ts';
import { readOptions } from './options.ts';
import { onParentExit } from './parent-watch.ts';
import { createProgress } from './progress.ts';
import { describeError } from './start-error.ts';

const startedAt = performance.now();
const progress = createProgress((text) => process.stdout.write(text));
const stopping = new AbortController();
// The console may close first (a closed terminal, the reader of a pipe). The processes have to be stopped nevertheless.
process.stdout.on('error', () => stopping.abort());
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => stopping.abort());

// A start in the background by hand may outlive its shell; a start by npm may not.
if (process.env['npm_lifecycle_event'] !== undefined) onParentExit(() => stopping.abort());

const stopped = new Promise<void>((resolve) => stopping.signal.addEventListener('abort', () => resolve()));

async function start(): Promise<Product | undefined> {
  try {
    const options = readOptions(process.argv.slice(2), process.env);
    if (options.stopWithStdin) process.stdin.on('close', () => stopping.abort()).resume();
    return await launch(options, progress, stopping.signal);
  } catch (error) {
    if (!stopping.signal.aborted) {
      console.error(describeError(error));
      process.exitCode = 1;
    }
    return undefined;
  }
}

const product = await start();
if (product !== undefined) {
  progress.line(banner(product.runtime));
  progress.line(`Ready after ${((performance.now() - startedAt) / 1000).toFixed(1)} s.`);
  await stopped;
  await progress.step('Stopping everything', () => product.stop());
}
// stdin may still be open and would keep the process running.
process.exit();
