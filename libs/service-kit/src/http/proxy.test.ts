import { Socket } from 'node:net';
import { expect, it, jest } from '@jest/globals';
import { createLogger } from '../runtime/log.ts';
import { listen } from './admin.ts';
import { createApp } from './app.ts';
import { proxyUpstream } from './proxy.ts';

it('probes a silent server: a machine that vanished sends nothing', async () => {
  const keepAlive = jest.spyOn(Socket.prototype, 'setKeepAlive');
  const app = createApp({ trustProxy: 'loopback' });
  app.get('/file', (_request, response) => void response.send('bytes'));
  app.get('/piped', async (request, response) => {
    const url = `http://127.0.0.1:${request.socket.localPort}/file`;
    const never = new AbortController().signal;
    const context = { requestId: 'r', log: createLogger('test', 'silent'), receivedAtMs: 0, signal: never };
    await proxyUpstream(
      { url, resourceName: 'file', timeoutMs: 10_000, stopSignal: never },
      { ...context, request, response },
    );
  });
  const listening = await listen(app, { host: '127.0.0.1', port: 0 });
  try {
    const respond = await fetch(`http://127.0.0.1:${listening.port}/piped`);
    expect(await respond.text()).toBe('bytes');
    expect(keepAlive).toHaveBeenCalledWith(true, 30_000);
  } finally {
    keepAlive.mockRestore();
    await listening.close();
  }
});
