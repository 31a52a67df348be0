import { createLogger } from '@fleet/service-kit';
import { describe, expect, it, jest } from '@jest/globals';
import { loadConfig } from '../assembly/config.ts';
import { createLogPushProvider, createProviders } from './providers.ts';

const log = createLogger('providers-test', 'silent');
const message = { token: 'device-1', title: 'SOS', body: 'AB12: SOS', collapseKey: '5:sos', data: { imei: '0138' } };

describe('PUSH_PROVIDER=log', () => {
  it('is the only provider without configuration', () => {
    const providers = createProviders(loadConfig({}), { log, messages: { send: async () => undefined } });
    expect([...providers.push.keys()]).toEqual(['log']);
    providers.stop();
  });

  it.each<['development' | 'production', object]>([
    ['development', { collapseKey: '5:sos', title: 'SOS', body: 'AB12: SOS' }],
    // Logs have other readers than the recipients.
    ['production', { collapseKey: '5:sos' }],
  ])('logs messages in %s without the recipient', async (environment, response) => {
    const info = jest.spyOn(log, 'info');
    expect(await createLogPushProvider(log, { NODE_ENV: environment }).send(message)).toBe('sent');
    expect(info.mock.calls).toEqual([[response, 'no push provider is configured, message not sent']]);
    info.mockRestore();
  });
});
