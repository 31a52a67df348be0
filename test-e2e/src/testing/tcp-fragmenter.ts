import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { setImmediate as turn } from 'node:timers/promises';

/** A network that carries one byte in each packet, in both directions. */
interface TcpFragmenter {
  readonly port: number;
  /** Number of bytes carried so far. */
  carried(): number;
  stop(): void;
}

/** Opens a port whose connections are forwarded to `target` byte by byte. */
export async function openTcpFragmenter(target: { host: string; port: number }): Promise<TcpFragmenter> {
  const sockets = new Set<Socket>();
  let carried = 0;

  const forward = async (from: Socket, to: Socket): Promise<void> => {
    for await (const chunk of from) {
      for (const byte of chunk as Buffer) {
        if (to.destroyed) return;
        to.write(Buffer.of(byte));
        carried += 1;
        await turn();
      }
    }
    to.end();
  };

  const server = createServer({ noDelay: true }, (near) => {
    const far = connect({ ...target, noDelay: true });
    for (const [from, to] of [
      [near, far],
      [far, near],
    ] as const) {
      sockets.add(from);
      // If one side ends or fails, the other is closed too.
      forward(from, to).catch(() => to.destroy());
    }
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    port: (server.address() as AddressInfo).port,
    carried: () => carried,
    stop: () => {
      server.close();
      for (const socket of sockets) socket.destroy();
    },
  };
}
