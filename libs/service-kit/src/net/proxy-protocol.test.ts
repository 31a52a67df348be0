import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Server, type ServerOpts, type Socket } from 'node:net';
import { waitFor } from '@fleet/testing';
import { afterEach, describe, expect, it } from '@jest/globals';
import { acceptProxyProtocol, parseProxyNetworks } from './proxy-protocol.ts';

interface Received {
  readonly address: string | undefined;
  readonly port: number | undefined;
  text: string;
  hasEnded: boolean;
}

const servers: Server[] = [];
const clients: Socket[] = [];
afterEach(() => {
  for (const client of clients.splice(0)) client.destroy();
  for (const server of servers.splice(0)) server.close();
});

/** Starts a server that records its connections. */
async function startServer(networks: readonly string[], options: ServerOpts = {}, timeoutMs = 10_000) {
  const received: Received[] = [];
  const server = createServer(options, (socket) => {
    const connection: Received = {
      address: socket.remoteAddress,
      port: socket.remotePort,
      text: '',
      hasEnded: false,
    };
    received.push(connection);
    socket.on('data', (data) => {
      connection.text += data.toString('latin1');
    });
    socket.on('end', () => {
      connection.hasEnded = true;
      socket.end();
    });
    socket.on('error', () => undefined);
    if (options.pauseOnConnect === true) socket.resume();
  });
  acceptProxyProtocol(server, networks, { timeoutMs });
  servers.push(server.listen(0, '127.0.0.1'));
  await once(server, 'listening');
  const dial = async (): Promise<Socket> => {
    const client = connect((server.address() as AddressInfo).port, '127.0.0.1');
    clients.push(client.on('error', () => undefined).setNoDelay(true));
    await once(client, 'connect');
    return client;
  };
  return { received, dial };
}

const header = 'PROXY TCP4 203.0.113.9 10.0.0.1 50000 7808\r\n';

describe('acceptProxyProtocol', () => {
  it.each([
    ['', {}],
    [' of a server that pauses its connections', { pauseOnConnect: true }],
    [' of a server that allows half-open connections', { allowHalfOpen: true }],
  ])('reports the client of the header%s, and passes on the data after it', async (_title, options) => {
    const { received, dial } = await startServer(['127.0.0.0/8'], options);
    const client = await dial();
    client.write(`${header}first`);
    await waitFor(() => received[0]?.text === 'first');
    client.end(' second');
    await waitFor(() => received[0]?.hasEnded === true);
    expect(received).toEqual([{ address: '203.0.113.9', port: 50_000, text: 'first second', hasEnded: true }]);
  });

  it('reads a header that arrives byte by byte', async () => {
    const { received, dial } = await startServer(['127.0.0.1']);
    const client = await dial();
    for (const character of `${header}data`) {
      client.write(character);
      await new Promise((resolve) => setImmediate(resolve));
    }
    await waitFor(() => received[0]?.text === 'data');
    expect(received[0]?.address).toBe('203.0.113.9');
  });

  it('accepts a client that sends nothing after the header', async () => {
    const { received, dial } = await startServer(['127.0.0.1']);
    (await dial()).write(header);
    await waitFor(() => received.length === 1);
    expect(received[0]).toMatchObject({ address: '203.0.113.9', text: '' });
  });

  it('reports the address of the proxy itself for its own connections', async () => {
    const { received, dial } = await startServer(['127.0.0.1']);
    (await dial()).write('PROXY UNKNOWN\r\n');
    await waitFor(() => received.length === 1);
    expect(received[0]?.address).toBe('127.0.0.1');
  });

  it('closes a connection of a proxy that sends something else', async () => {
    const { received, dial } = await startServer(['127.0.0.1']);
    const client = await dial();
    client.write(Buffer.from('7e0002', 'hex'));
    await once(client, 'close');
    expect(received).toEqual([]);
  });

  it('closes a connection of a proxy whose header does not arrive in time', async () => {
    const { received, dial } = await startServer(['127.0.0.1'], {}, 50);
    const client = await dial();
    client.write('PROXY TCP4 203.0.113.9');
    await once(client, 'close');
    expect(received).toEqual([]);
  });

  it('closes a connection of a proxy that ends before its header', async () => {
    const { received, dial } = await startServer(['127.0.0.1'], { allowHalfOpen: true });
    const client = await dial();
    client.end('PROXY TCP4');
    await once(client, 'close');
    expect(received).toEqual([]);
  });

  it.each([
    ['from elsewhere', ['192.0.2.0/24']],
    ['without configured networks', []],
  ])('takes no address from a header %s', async (_title, networks) => {
    const { received, dial } = await startServer(networks);
    (await dial()).write(`${header}data`);
    await waitFor(() => received[0]?.text === `${header}data`);
    expect(received[0]?.address).toBe('127.0.0.1');
  });
});

describe('parseProxyNetworks', () => {
  it('reads networks and addresses, and rejects other text', () => {
    expect(parseProxyNetworks('10.0.0.0/8, fd00::/8,192.0.2.1')).toEqual(['10.0.0.0/8', 'fd00::/8', '192.0.2.1']);
    expect(parseProxyNetworks('')).toEqual([]);
    expect(() => parseProxyNetworks('10.0.0.0/33')).toThrow('PROXY_PROTOCOL_NETWORKS contains "10.0.0.0/33"');
  });
});
