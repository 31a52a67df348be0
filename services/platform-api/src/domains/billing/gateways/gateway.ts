import type { IncomingHttpHeaders } from 'node:http';
import { AppError, createCircuitBreaker } from '@fleet/service-kit';
import type CircuitBreaker from 'opossum';
import type { GatewayName, Order } from '../schema.ts';

/** The order of a gateway that belongs to one of ours. */
export interface GatewayOrder {
  readonly gatewayOrderId: string | null;
  readonly publicKey: string | null;
  readonly clientSecret: string | null;
  readonly checkoutUrl: string | null;
}

/** A client's proof of its payment. */
interface PaymentProof {
  readonly paymentId: string;
  readonly signature: string | undefined;
}

/** A verified event of a gateway. */
export interface PaymentEvent {
  readonly id: string;
  readonly type: string;
  /** Null for an event that is not about a payment. */
  readonly payment: {
    readonly status: 'pending' | 'paid' | 'failed' | 'refunded';
    readonly gatewayOrderId: string | null;
    /** The id of our order, which was sent to the gateway when its order was created. */
    readonly orderId: number | null;
    readonly paymentId: string | null;
    /** The paid amount in minor units; null if the event does not contain it. */
    readonly amount: number | null;
    readonly currency: string | null;
  } | null;
}

interface Portal {
  readonly url: string;
  readonly expiresAt: Date;
}

interface PortalRequest {
  readonly customerId: string | null;
  readonly accountId: number;
  readonly name: string;
  readonly returnUrl: string;
  /** Stores the id of a created customer. */
  readonly saveCustomer: (customerId: string) => Promise<void>;
}

/** A payment provider. */
export interface PaymentGateway {
  readonly name: GatewayName;
  createOrder(order: Order): Promise<GatewayOrder>;
  /** Returns whether the payment is proven. Throws an AppError if the proof is invalid. */
  verify(order: Order, proof: PaymentProof): Promise<boolean>;
  /** Returns the gateway's own customer page; null if it has none. */
  createPortal(request: PortalRequest): Promise<Portal | null>;
  stop(): void;
}

/** Reads an event of a webhook. Throws 401 if the signature is not the provider's. */
export type EventReader = (body: Buffer, headers: IncomingHttpHeaders) => PaymentEvent;

export const signatureInvalidError = (cause?: unknown): AppError =>
  new AppError('signature_invalid', 'The signature is not valid.', cause === undefined ? {} : { cause });

export const notConfiguredError = (name: string): AppError =>
  new AppError('provider_not_configured', `The payment gateway ${name} is not configured.`);

/** Thrown for a failure of the gateway itself, which the circuit breaker counts. Rejected requests do not count. */
export class GatewayError extends Error {
  override readonly name = 'GatewayError';
}

/**
 * Puts a circuit breaker around all calls of a gateway. Throws 502 if a call fails and 503 while the breaker is open.
 */
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
        throw new AppError('unavailable', 'The payment gateway is temporarily unavailable. Retry later.', { cause });
      throw new AppError('upstream_error', 'The payment gateway did not accept the request.', { cause });
    }
  }

  stop(): void {
    this.#breaker.shutdown();
  }
}
