import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type WebSocket, WebSocketServer } from 'ws';
import type { DeviceApiHarness } from './harness.ts';

/** A media pod whose cameras repeat what they receive. */
export interface FakeTalkPod {
  readonly url: string;
  /** Open talks. */
  readonly talks: ReadonlySet<WebSocket>;
  /** Simulates the camera of a device that connects for talk on channel 1. It leaves with its talker. */
  connectCamera(harness: DeviceApiHarness, imei: string): Promise<void>;
  close(): Promise<void>;
}

export async function startFakeTalkPod(): Promise<FakeTalkPod> {
  const server = createServer();
  const sockets = new WebSocketServer({ server });
  const leaveByImei = new Map<string, () => Promise<unknown>>();
  sockets.on('connection', (websocket, request) => {
    websocket.on('message', (data, isBinary) => websocket.send(data, { binary: isBinary }));
    const imei = /^\/talk\/(\d+)_1\?/.exec(request.url ?? '')?.[1] ?? '';
    websocket.once('close', () => void leaveByImei.get(imei)?.());
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    url,
    talks: sockets.clients,
    connectCamera: async (harness, imei) => {
      const camera = await harness.connectStream(imei, 1, url, 'talk-pod', 'talk');
      leaveByImei.set(imei, () => camera.leave());
    },
    close: async () => {
      for (const websocket of sockets.clients) websocket.terminate();
      sockets.close();
      await new Promise((resolve) => {
        server.close(resolve);
      });
    },
  };
}
