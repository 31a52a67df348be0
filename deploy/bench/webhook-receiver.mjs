// A webhook receiver over HTTPS for the benchmarks.
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { selfSigned } from '../../libs/testing/dist/certificate.js';

/**
 * Starts a receiver. Calls `onNotification` with each notification after the response was sent. `env` lets a product
 * deliver to it. While `isAway` is true, it closes each connection.
 */
export async function startReceiver(onNotification) {
  const folder = mkdtempSync(join(tmpdir(), 'fleet-bench-'));
  const certificate = selfSigned();
  const certFile = join(folder, 'ca.pem');
  writeFileSync(certFile, certificate.cert);
  const server = createServer(certificate, (request, response) => {
    if (receiver.isAway) {
      request.socket.destroy();
      return;
    }
    const chunks = [];
    request.on('data', (chunk) => chunks.push(chunk));
    request.on('end', () => {
      response.writeHead(204).end();
      onNotification(JSON.parse(JSON.parse(Buffer.concat(chunks).toString()).body).notification);
    });
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = /** @type {import('node:net').AddressInfo} */ (server.address());
  const receiver = {
    isAway: false,
    cert: certificate.cert,
    env: { WEBHOOK_ALLOWED_CIDRS: '127.0.0.0/8', WEBHOOK_CA_FILE: certFile },
    url: `https://127.0.0.1:${port}/hook`,
    stop: () => {
      server.closeAllConnections();
      server.close();
      rmSync(folder, { recursive: true, force: true });
    },
  };
  return receiver;
}
