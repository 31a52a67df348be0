import type { IncomingHttpHeaders } from 'node:http';
import { AppError, createCircuitBreaker } from '@fleet/service-kit';
import type CircuitBreaker from 'opossum';
import type { GatewayName, Order } from '../schema.ts';

/** What a gateway makes of an order. */
export interface GatewayOrder {
  readonly gatewayOrderId: string | null;
  readonly publicKey: string | null;
  readonly clientSecret: string | null;
  readonly checkoutUrl: string | null;
}

/** What a client says of a payment that it has made. */
export interface PaymentProof {
  readonly paymentId: string;
  readonly signature: string | undefined;
}

/** What a verified event says of an order. */
export interface PaymentEvent {
  readonly id: string;
  readonly type: string;
  /** Null for what is no payment's business. */
  readonly payment: {
    readonly status: 'pending' | 'paid' | 'failed' | 'refunded';
    readonly gatewayOrderId: string | null;
    /** Our order's id, which the gateway was given along. */
    readonly orderId: number | null;
    readonly paymentId: string | null;
    /** What was paid, minor units; null where the event does not say. */
    readonly amount: number | null;
    readonly currency: string | null;
  } | null;
}

export interface Portal {
  readonly url: string;
  readonly expiresAt: Date;
}

export interface PortalRequest {
  readonly customerId: string | null;
  readonly accountId: number;
  readonly name: string;
  readonly returnUrl: string;
  /** Keeps the customer that was made. */
  readonly saveCustomer: (customerId: string) => Promise<void>;
}

/** A payment provider. */
export interface PaymentGateway {
  readonly name: GatewayName;
  createOrder(order: Order): Promise<GatewayOrder>;
  /** True when the payment is proven; an AppError where the proof is wrong. */
  verify(order: Order, proof: PaymentProof): Promise<boolean>;
  /** The gateway's own page for customers; null where it has none. */
  createPortal(request: PortalRequest): Promise<Portal | null>;
  stop(): void;
}

/** Reads an event of a webhook; 401 where its signature is not the provider's. */
export type EventReader = (body: Buffer, headers: IncomingHttpHeaders) => PaymentEvent;

export const signatureInvalidError = (cause?: unknown): AppError =>
  new AppError('signature_invalid', 'The signature is not valid.', cause === undefined ? {} : { cause });

export const notConfiguredError = (name: string): AppError =>
  new AppError('provider_not_configured', `The payment gateway ${name} is not configured.`);

/** A failure of the gateway itself, which counts for its breaker; what it refuses does not. */
export class GatewayError extends Error {
  override readonly name = 'GatewayError';
}

/** A breaker around all calls of a gateway: 502 where it fails, 503 while it is left alone. */
export class GatewayBreaker {
  readonly #breaker: CircuitBreaker<[() => Promise<unknown>]>;

  constructor() {
    this.#breaker = createCircuitBreaker((work: () => Promise<unknown>) => work(), {
      volumeThreshold: 10,
      resetTimeoutMs: 30_000,
      isFailure: (error) => error instanceof GatewayError,
    });
  }

  async execute<T>(run: () => Promise<T>): Promise<T> {
    try {
      return (await this.#breaker.fire(run)) as T;
    } catch (cause) {
      if (cause instanceof AppError) throw cause;
      if (this.#breaker.opened && !(cause instanceof GatewayError))
        throw new AppError('unavailable', 'The payment gateway cannot be reached at the moment.', { cause });
      throw new AppError('upstream_error', 'The payment gateway did not take the request.', { cause });
    }
  }

  stop(): void {
    this.#breaker.shutdown();
  }
}
