import type { Config } from '../../assembly/config.ts';
import { createEventReaders, createPaymentGateway } from './gateways/create-gateway.ts';
import { type EventReader, type PaymentGateway } from './gateways/gateway.ts';
import { type PlanFile, readPlans } from './plans.ts';

/** Dependencies of billing besides the records. Created once from the settings. */
export interface Billing {
  readonly plans: PlanFile;
  readonly gateway: PaymentGateway;
  readonly eventReaders: Readonly<Record<'stripe' | 'razorpay', EventReader>>;
}

export const createBilling = (config: Config): Billing => ({
  plans: readPlans(config.PLANS_FILE),
  gateway: createPaymentGateway(config),
  eventReaders: createEventReaders(config),
});
