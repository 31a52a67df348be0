import { once } from 'node:events';
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import { afterEach, describe, expect, it } from '@jest/globals';
import { probe, probeUrl } from './probe.ts';

const servers: Server[] = [];
const sockets: Socket[] = [];
afterEach(async () => {
  for (const socket of sockets.splice(0)) socket.destroy();
  await Promise.all(servers.splice(0).map((server) => new Promise((resolve) => server.close(resolve))));
});

async function serve(onConnection: (socket: Socket) => void): Promise<number> {
  const server = createServer((socket) => {
    sockets.push(socket);
    socket.on('error', () => socket.destroy());
    onConnection(socket);
  }).listen(0, '127.0.0.1');
  servers.push(server);
  await once(server, 'listening');
  return (server.address() as AddressInfo).port;
}

const respondWith = (response: string) => (socket: Socket) => {
  socket.once('data', () => socket.write(response));
};

describe('probe', () => {
  it('knows a Redis that answers, one that asks for a password, and one that still loads', async () => {
    expect(await probe('redis', '127.0.0.1', await serve(respondWith('+PONG\r\n')))).toBe(true);
    expect(await probe('redis', '127.0.0.1', await serve(respondWith('-NOAUTH Authentication required.\r\n')))).toBe(
      true,
    );
    expect(await probe('redis', '127.0.0.1', await serve(respondWith('-LOADING Redis is loading\r\n')))).toBe(false);
  });

  it('knows NATS by what it says first, also in pieces', async () => {
    const port = await serve((socket) => {
      socket.write('INFO {"server_id"');
      setImmediate(() => socket.write(':"x"}\r\n'));
    });
    expect(await probe('nats', '127.0.0.1', port)).toBe(true);
    expect(await probe('nats', '127.0.0.1', await serve((socket) => socket.write('SSH-2.0\r\n')))).toBe(false);
  });

  it('asks a MongoDB with a well-formed OP_MSG and takes only the answer to it', async () => {
    const requests: Buffer[] = [];
    const port = await serve((socket) => {
      socket.once('data', (request: Buffer) => {
        requests.push(request);
        const reply = Buffer.alloc(16);
        reply.writeInt32LE(request.readInt32LE(4), 8);
        reply.writeInt32LE(2013, 12);
        socket.write(reply);
      });
    });
    expect(await probe('mongodb', '127.0.0.1', port)).toBe(true);
    const [request = Buffer.alloc(0)] = requests;
    expect(request.readInt32LE(0)).toBe(request.length);
    expect(request.subarray(21).toString('hex')).toBe('1e0000001070696e67000100000002246462000600000061646d696e0000');
  });

  it('says no when nobody listens, or the connection is closed at once', async () => {
    const port = await serve((socket) => socket.destroy());
    expect(await probe('nats', '127.0.0.1', port)).toBe(false);
    expect(await probe('redis', '127.0.0.1', 1)).toBe(false);
  });
});

describe('probeUrl', () => {
  it('reads the first server of a list, with or without a scheme', async () => {
    const port = await serve((socket) => socket.write('INFO {}\r\n'));
    expect(await probeUrl('nats', `nats://127.0.0.1:${port},nats://127.0.0.1:1`)).toBe(true);
    expect(await probeUrl('nats', `127.0.0.1:${port}`)).toBe(true);
    expect(await probeUrl('nats', 'nats://127.0.0.1:1')).toBe(false);
  });

  it('believes encrypted servers, and throws at what is no URL', async () => {
    expect(await probeUrl('redis', 'rediss://127.0.0.1:1')).toBe(true);
    await expect(probeUrl('redis', 'redis://127.0.0.1:port')).rejects.toThrow(/Invalid URL/);
    await expect(probeUrl('mongodb', 'http://127.0.0.1')).rejects.toThrow(/http: is not a scheme of mongodb/);
  });
});
