// The whole product as one process tree, so that a load tool can count the CPU time of all of it. Ends on SIGTERM.
// Usage: node deploy/bench/serve.mjs PORT_OFFSET
import { startProduct } from '../local/dist/product.js';
import { raisedLimits } from './limits.mjs';

const product = await startProduct({ portOffset: Number(process.argv[2]), env: raisedLimits });
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
