import { DurableConsumer } from '@fleet/bus';
import { Counter, type Registry, type Running } from '@fleet/service-kit';
import { startDurableConsumers } from '../event-consumers/start-durable-consumers.ts';
import type { Deps } from '../platform/deps.ts';
import { ChannelSender } from './channel-sender.ts';
import { createEmailChannel, createPushChannel, createSmsChannel, type SenderChannel } from './channels.ts';
import type { ProviderClientOptions } from './provider-client.ts';
import { createProviders } from './providers.ts';
import { RecipientResolver } from './recipient-resolver.ts';

/** Replacements for tests. */
interface NotificationConsumerOptions {
  readonly registry?: Registry;
  readonly client?: ProviderClientOptions;
}

/**
 * Starts to send notifications by push, SMS and mail. Each channel has its own consumer,
 * `notification-senders-<channel>`, so that a failing provider delays no other channel. All replicas share the work.
 */
export function startNotificationConsumers(
  deps: Deps,
  { registry, client = {} }: NotificationConsumerOptions = {},
): Running {
  const { bus, config, log } = deps;
  const resolver = new RecipientResolver(deps);
  const providers = createProviders(config, { log, messages: deps.ownMessages }, client);
  const counter = new Counter({
    name: 'platform_notification_messages_total',
    help: 'messages to users about notifications, by channel and result',
    labelNames: ['channel', 'result'],
    registers: registry === undefined ? [] : [registry],
  });
  const startChannel = (channel: SenderChannel): Running => {
    const { name } = channel;
    const sender = new ChannelSender(deps, channel, resolver, (result) => counter.inc({ channel: name, result }));
    return new DurableConsumer(bus, {
      stream: 'NOTIFICATIONS',
      durable: `notification-senders-${name}`,
      subject: 'notification.*.*',
      handler: (message) => sender.handle(message),
      onError: (error) => log.error({ err: error, channel: name }, 'could not send a notification'),
      maxInFlight: 256,
    });
  };
  const consumers = startDurableConsumers(deps, 'notifications', () =>
    [
      createPushChannel(deps, providers, resolver),
      createSmsChannel(deps, providers),
      createEmailChannel(providers),
    ].map(startChannel),
  );
  return {
    stop: async () => {
      // Messages that wait for a provider are deferred and redelivered elsewhere.
      providers.stop();
      await consumers.stop();
    },
  };
}
