import { AppError } from '@fleet/service-kit';
import type { Config } from '../../../config.ts';
import type { GatewayName } from '../schema.ts';
import type { PaymentGateway, ReadEvent } from './gateway.ts';
import { razorpayEvents, razorpayGateway } from './razorpay.ts';
import { stripeEvents, stripeGateway } from './stripe.ts';

/** No gateway: an admin marks an order paid. */
const offlineGateway = (): PaymentGateway => ({
  name: 'offline',
  createOrder: async () => ({ gatewayOrderId: null, publicKey: null, clientSecret: null, checkoutUrl: null }),
  verify: async () => {
    throw new AppError('state_conflict', 'Orders are paid offline: an admin marks them paid.');
  },
  portal: async () => null,
  stop: () => undefined,
});

const gateways: Readonly<Record<GatewayName, (config: Config) => PaymentGateway>> = {
  stripe: stripeGateway,
  razorpay: razorpayGateway,
  offline: offlineGateway,
};

/** The gateway that takes new orders. */
export const paymentGateway = (config: Config): PaymentGateway => gateways[config.PAYMENT_GATEWAY](config);

/** Who sends events. They count also after another gateway has become the one for new orders. */
export const eventReaders = (config: Config): Readonly<Record<'stripe' | 'razorpay', ReadEvent>> => ({
  stripe: stripeEvents(config),
  razorpay: razorpayEvents(config),
});
