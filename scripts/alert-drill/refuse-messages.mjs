// Lets a stream of JetStream refuse every message, as one whose disk is full.
import { createRequire } from 'node:module';

const { connect } = createRequire(new URL('../../test-e2e/package.json', import.meta.url))('nats');
const unlimited = -1;

async function limitMessages(natsUrl, stream, maxBytes) {
  const connection = await connect({ servers: natsUrl });
  try {
    const manager = await connection.jetstreamManager();
    await manager.streams.update(stream, { max_msg_size: maxBytes });
  } finally {
    await connection.close();
  }
}

/** Returns a fault in which a stream stores no further message. */
export const refuseMessages = (natsUrl, stream) => ({
  begin: () => limitMessages(natsUrl, stream, 1),
  end: () => limitMessages(natsUrl, stream, unlimited),
});
