import { connect } from 'node:net';

/** Timeout of one probe. */
const probeTimeoutMs = 2_000;

export type ServerKind = 'nats' | 'redis' | 'mongodb';

interface ProbeExchange {
  /** First message of the client; a NATS server sends first. */
  greeting: Buffer;
  /** Evaluates the response received so far; undefined if it is incomplete. */
  evaluate: (received: Buffer) => boolean | undefined;
}

/** Returns `{ ping: 1, $db: "admin" }` in an OP_MSG: header of 16, flags, section kind 0, document. */
function mongoPing(): Buffer {
  const document = Buffer.concat([
    Buffer.from([0x1e, 0, 0, 0]),
    Buffer.from('\x10ping\0\x01\0\0\0', 'latin1'),
    Buffer.from('\x02$db\0\x06\0\0\0admin\0\0', 'latin1'),
  ]);
  const message = Buffer.concat([Buffer.alloc(21), document]);
  message.writeInt32LE(message.length, 0);
  message.writeInt32LE(1, 4); // request id
  message.writeInt32LE(2013, 12); // OP_MSG
  return message;
}

const exchanges: Record<ServerKind, ProbeExchange> = {
  nats: {
    greeting: Buffer.alloc(0),
    evaluate: (received) => (received.includes('\r\n') ? received.toString('latin1').startsWith('INFO {') : undefined),
  },
  redis: {
    greeting: Buffer.from('PING\r\n'),
    // A server that requires a password is running; one that is still loading its files is not ready.
    evaluate: (received) =>
      received.includes('\r\n') ? /^(\+PONG|-NOAUTH)/.test(received.toString('latin1')) : undefined,
  },
  mongodb: {
    greeting: mongoPing(),
    evaluate: (received) =>
      received.length < 16 ? undefined : received.readInt32LE(12) === 2013 && received.readInt32LE(8) === 1,
  },
};

/** Returns whether a server of this kind responds there in its own protocol. */
export function probe(kind: ServerKind, host: string, port: number): Promise<boolean> {
  const { greeting, evaluate } = exchanges[kind];
  return new Promise((resolve) => {
    const socket = connect({ host, port });
    let received = Buffer.alloc(0);
    const finish = (isAlive: boolean): void => {
      socket.destroy();
      resolve(isAlive);
    };
    socket.setTimeout(probeTimeoutMs, () => finish(false));
    socket.once('error', () => finish(false));
    socket.once('close', () => resolve(false));
    socket.once('connect', () => socket.write(greeting));
    socket.on('data', (chunk: Buffer) => {
      received = Buffer.concat([received, chunk]);
      const isAlive = evaluate(received);
      if (isAlive !== undefined) finish(isAlive);
    });
  });
}

const defaultPorts: Record<ServerKind, number> = { nats: 4222, redis: 6379, mongodb: 27_017 };

const unprobedSchemes = new Set([
  'tls:',
  'ws:',
  'wss:',
  'rediss:',
  'redis+sentinel:',
  'rediss+sentinel:',
  'redis+cluster:',
  'rediss+cluster:',
  'mongodb+srv:',
]);

/**
 * Returns whether the server of a URL from the environment responds. Encrypted URLs and those that need a lookup
 * (`tls:`, `rediss:`, `redis+sentinel:`, `redis+cluster:`, `mongodb+srv:`) are not probed: the services report their errors. Throws a TypeError for a URL
 * that is not of this kind.
 */
export async function probeUrl(kind: ServerKind, url: string): Promise<boolean> {
  if (unprobedSchemes.has(/^[^/]*:/.exec(url)?.[0] ?? '')) return true;
  const [first = ''] = url.split(',');
  const parsed = new URL(first.includes('://') ? first : `${kind}://${first}`);
  if (parsed.protocol !== `${kind}:`) throw new TypeError(`${parsed.protocol} is not a scheme of ${kind}`);
  return probe(kind, parsed.hostname.replaceAll(/^\[|\]$/g, ''), Number(parsed.port) || defaultPorts[kind]);
}
