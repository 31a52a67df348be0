import type { Config } from '../../config.ts';
import { type PaymentGateway, type ReadEvent } from './gateways/gateway.ts';
import { eventReaders, paymentGateway } from './gateways/index.ts';
import { type PlanFile, readPlans } from './plans.ts';

/** What billing works with beside the records: made once, from the settings. */
export interface Billing {
  readonly plans: PlanFile;
  readonly gateway: PaymentGateway;
  readonly readers: Readonly<Record<'stripe' | 'razorpay', ReadEvent>>;
}

export const billingOf = (config: Config): Billing => ({
  plans: readPlans(config.PLANS_FILE),
  gateway: paymentGateway(config),
  readers: eventReaders(config),
});
