// Stands for a Service of Kubernetes: passes new connections on to the newest ready pod. Existing connections stay.
import { once } from 'node:events';
import { connect, createServer } from 'node:net';

/** Passes TCP connections on to one port, which may change. */
export class Balancer {
  #server = createServer((client) => this.#pass(client));
  #sockets = new Set();
  /** Port of the pod that receives new connections. */
  targetPort = 0;

  static async open() {
    const balancer = new Balancer();
    balancer.#server.listen(0, '127.0.0.1');
    await once(balancer.#server, 'listening');
    return balancer;
  }

  get port() {
    const address = this.#server.address();
    return typeof address === 'object' && address !== null ? address.port : 0;
  }

  close() {
    this.#server.close();
    for (const socket of this.#sockets) socket.destroy();
  }

  #pass(client) {
    const target = connect(this.targetPort, '127.0.0.1');
    for (const [one, other] of [
      [client, target],
      [target, client],
    ]) {
      this.#sockets.add(one);
      // A broken connection is closed on both sides.
      one.on('error', () => one.destroy());
      one.on('close', () => {
        this.#sockets.delete(one);
        if (one.readableEnded) other.end();
        else other.destroy();
      });
      one.pipe(other);
    }
  }
}
