import { AppError } from '@fleet/service-kit';
import type { Config } from '../../../assembly/config.ts';
import type { GatewayName } from '../schema.ts';
import type { EventReader, PaymentGateway } from './gateway.ts';
import { createRazorpayEventReader, createRazorpayGateway } from './razorpay.ts';
import { createStripeEventReader, createStripeGateway } from './stripe.ts';

/** Creates a gateway for offline payments, for which an admin marks an order paid. */
const createOfflineGateway = (): PaymentGateway => ({
  name: 'offline',
  createOrder: async () => ({ gatewayOrderId: null, publicKey: null, clientSecret: null, checkoutUrl: null }),
  verify: async () => {
    throw new AppError('state_conflict', 'Orders are paid offline. An admin must mark the order paid.');
  },
  createPortal: async () => null,
  stop: () => undefined,
});

const gatewayFactories: Readonly<Record<GatewayName, (config: Config) => PaymentGateway>> = {
  stripe: createStripeGateway,
  razorpay: createRazorpayGateway,
  offline: createOfflineGateway,
};

/** Creates the gateway for new orders. */
export const createPaymentGateway = (config: Config): PaymentGateway =>
  gatewayFactories[config.PAYMENT_GATEWAY](config);

/**
 * Creates the event readers of all gateways. Events of a gateway are still accepted after another one was configured
 * for new orders.
 */
export const createEventReaders = (config: Config): Readonly<Record<'stripe' | 'razorpay', EventReader>> => ({
  stripe: createStripeEventReader(config),
  razorpay: createRazorpayEventReader(config),
});
