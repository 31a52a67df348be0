import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';

/** A network that delays every packet in both directions. */
interface DelayedLink {
  readonly port: number;
  stop(): void;
}

/** Opens a port whose connections are forwarded to `target`; each read is delayed by `delayMs`, in order. */
export async function openDelayedLink(target: { host: string; port: number }, delayMs: number): Promise<DelayedLink> {
  const sockets = new Set<Socket>();
  const timers = new Set<NodeJS.Timeout>();
  const delayed = (work: () => void): void => {
    const timer = setTimeout(() => {
      timers.delete(timer);
      work();
    }, delayMs);
    timers.add(timer);
  };
  const forward = (from: Socket, to: Socket): void => {
    sockets.add(from);
    from.on('data', (chunk: Buffer) => delayed(() => to.write(chunk)));
    from.on('end', () => delayed(() => to.end()));
    from.on('error', () => to.destroy());
  };
  const server = createServer({ noDelay: true }, (near) => {
    const far = connect({ ...target, noDelay: true });
    forward(near, far);
    forward(far, near);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    port: (server.address() as AddressInfo).port,
    stop: () => {
      server.close();
      for (const timer of timers) clearTimeout(timer);
      for (const socket of sockets) socket.destroy();
    },
  };
}
