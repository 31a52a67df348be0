import { AppError } from '@fleet/service-kit';
import type { Config } from '../../../assembly/config.ts';
import type { GatewayName } from '../schema.ts';
import type { EventReader, PaymentGateway } from './gateway.ts';
import { createRazorpayEventReader, createRazorpayGateway } from './razorpay.ts';
import { createStripeEventReader, createStripeGateway } from './stripe.ts';

/** No gateway: an admin marks an order paid. */
const createOfflineGateway = (): PaymentGateway => ({
  name: 'offline',
  createOrder: async () => ({ gatewayOrderId: null, publicKey: null, clientSecret: null, checkoutUrl: null }),
  verify: async () => {
    throw new AppError('state_conflict', 'Orders are paid offline: an admin marks them paid.');
  },
  createPortal: async () => null,
  stop: () => undefined,
});

const gatewayFactories: Readonly<Record<GatewayName, (config: Config) => PaymentGateway>> = {
  stripe: createStripeGateway,
  razorpay: createRazorpayGateway,
  offline: createOfflineGateway,
};

/** The gateway that takes new orders. */
export const createPaymentGateway = (config: Config): PaymentGateway =>
  gatewayFactories[config.PAYMENT_GATEWAY](config);

/** Who sends events. They count also after another gateway has become the one for new orders. */
export const createEventReaders = (config: Config): Readonly<Record<'stripe' | 'razorpay', EventReader>> => ({
  stripe: createStripeEventReader(config),
  razorpay: createRazorpayEventReader(config),
});
