import { type Database, isDuplicateKey } from '@fleet/storage';
import { AccountRepository, type Scope } from '../../store/account-repository.ts';
import type { RecordStore } from '../../store/record-store.ts';
import { previousStatuses } from './rules.ts';
import { type GatewayName, gatewayNames, type Order, type OrderStatus, type Subscription } from './schema.ts';

export const orderCollection = (records: RecordStore): AccountRepository<Order> =>
  new AccountRepository<Order>(records, 'orders');

export const subscriptionCollection = (records: RecordStore): AccountRepository<Subscription> =>
  new AccountRepository<Subscription>(records, 'subscriptions', { unique: { vehicleId: 'account' } });

const versionedUpdate = (change: object): object => ({
  $set: { ...change, updatedAt: new Date() },
  $inc: { version: 1 },
});

/** Finds orders across all accounts, because events of gateways do not contain an account. */
export class GatewayOrders {
  readonly #records: RecordStore;

  constructor(records: RecordStore) {
    this.#records = records;
  }

  get #orders() {
    return this.#records.collection<Order>('orders');
  }

  /** Finds an order by the gateway's order id, or by our order id that was sent to the gateway. */
  async find(gateway: GatewayName, gatewayOrderId: string | null, orderId: number | null): Promise<Order | null> {
    if (gatewayOrderId !== null) {
      const order = await this.#orders.findOne({ gateway, gatewayOrderId } as object);
      if (order !== null) return order;
    }
    // The event may arrive before the gateway's order id is stored.
    if (orderId === null) return null;
    return await this.#orders.findOne({ _id: orderId, gateway, gatewayOrderId: null } as object);
  }

  /** Changes the status of an order; returns null if the transition is not allowed. */
  async move(
    order: Pick<Order, '_id' | 'accountId'>,
    status: OrderStatus,
    change: Partial<Pick<Order, 'gatewayOrderId' | 'paymentId' | 'paidAt'>> = {},
  ): Promise<Order | null> {
    const where = { _id: order._id, accountId: order.accountId, status: { $in: previousStatuses(status) } } as object;
    const moved = { ...change, status, isApplied: false };
    const options = { returnDocument: 'after' } as const;
    return await this.#orders.findOneAndUpdate(where, versionedUpdate(moved), options);
  }

  /** Records that the status of an order is applied to its subscriptions; returns false if the status has changed. */
  async markApplied({ _id, status }: Order): Promise<boolean> {
    return (await this.#orders.updateOne({ _id, status }, { $set: { isApplied: true } })).matchedCount === 1;
  }

  /** Returns paid and refunded orders that are not applied to their subscriptions because a process died. */
  async listUnapplied(): Promise<Order[]> {
    const where = { status: { $in: ['paid', 'refunded'] }, isApplied: false } as object;
    return await this.#orders.find(where).limit(100).toArray();
  }

  /** Expires unpaid orders; returns their number. */
  async expire(now: Date): Promise<number> {
    const where = { status: { $in: ['created', 'pending'] }, expiresAt: { $lte: now } } as object;
    return (await this.#orders.updateMany(where, versionedUpdate({ status: 'expired' }))).modifiedCount;
  }
}

/** A processed event of a gateway, with the id `<gateway>:<event id>`. Each event counts once. */
interface PaymentEventRecord {
  readonly _id: string;
  readonly type: string;
  readonly receivedAt: Date;
}

export class PaymentEvents {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  get #events() {
    return this.#database.collection<PaymentEventRecord>('payment_events');
  }

  async isKnown(gateway: GatewayName, eventId: string): Promise<boolean> {
    return (await this.#events.findOne({ _id: `${gateway}:${eventId}` })) !== null;
  }

  /** Records a processed event. Call it after processing, since the gateway retries events that failed. */
  async record(gateway: GatewayName, eventId: string, type: string): Promise<void> {
    try {
      await this.#events.insertOne({ _id: `${gateway}:${eventId}`, type, receivedAt: new Date() });
    } catch (error) {
      // Two concurrent deliveries: both have had the same effect.
      if (!isDuplicateKey(error)) throw error;
    }
  }

  /** Removes old records. Gateways retry an event for days, not for months. */
  async removeBefore(before: Date): Promise<number> {
    return (await this.#events.deleteMany({ receivedAt: { $lt: before } })).deletedCount;
  }
}

interface Customer {
  /** `<gateway>:<account id>` */
  readonly _id: string;
  readonly customerId: string;
}

/** Stores the customer ids of accounts at the gateways. */
export class Customers {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  async find(gateway: GatewayName, { accountId }: Scope): Promise<string | null> {
    const customer = await this.#database
      .collection<Customer>('billing_customers')
      .findOne({ _id: `${gateway}:${accountId}` });
    return customer?.customerId ?? null;
  }

  /** Deletes the customer ids of an account at all gateways. */
  async delete({ accountId }: Scope): Promise<void> {
    const ids = gatewayNames.map((gateway) => `${gateway}:${accountId}`);
    await this.#database.collection<Customer>('billing_customers').deleteMany({ _id: { $in: ids } });
  }

  async save(gateway: GatewayName, { accountId }: Scope, customerId: string): Promise<void> {
    const customers = this.#database.collection<Customer>('billing_customers');
    await customers.updateOne({ _id: `${gateway}:${accountId}` }, { $set: { customerId } }, { upsert: true });
  }
}
