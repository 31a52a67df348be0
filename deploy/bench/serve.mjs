// Runs the whole product as one process tree, so that a load tool can count its total CPU time. Exits on SIGTERM.
// Usage: node deploy/bench/serve.mjs PORT_OFFSET
import { setTimeout as sleep } from 'node:timers/promises';
import { startProduct } from '../local/dist/product.js';
import { raisedLimits } from './limits.mjs';

const giveUpAfterMs = 60_000;

// The product of the previous measurement may still be releasing its ports.
async function startWhenPortsAreFree(portOffset) {
  const deadline = performance.now() + giveUpAfterMs;
  for (;;) {
    try {
      return await startProduct({ portOffset, env: raisedLimits });
    } catch (error) {
      if (performance.now() > deadline || !error.message.includes('is taken')) throw error;
      await sleep(500);
    }
  }
}

const product = await startWhenPortsAreFree(Number(process.argv[2]));
for (const signal of ['SIGTERM', 'SIGINT']) {
  process.once(signal, () => {
    product.stop().then(
      () => process.exit(0),
      (error) => {
        console.error(error);
        process.exit(1);
      },
    );
  });
}
