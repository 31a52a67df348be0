import { paginationQuery, sortParameter } from '@fleet/service-kit';
import { type Static, Type } from 'typebox';
import { searchText, stringEnum } from '../../platform/fields.ts';
import { nullable, recordId, recordProperties } from '../../platform/schemas.ts';

export const listDealersQuery = Type.Object({
  ...paginationQuery,
  sort: sortParameter(['id', 'name', 'created_at']),
  query: searchText('name, phone, email or city'),
});
export type ListDealersQuery = Static<typeof listDealersQuery>;

export const dealerResponse = Type.Object(
  {
    ...recordProperties,
    name: Type.String(),
    phone_number: nullable(Type.String()),
    email: nullable(Type.String()),
    city: nullable(Type.String()),
    country: nullable(Type.String()),
    parent_dealer_id: nullable(recordId),
    account_count: Type.Integer({ minimum: 0 }),
    vehicle_count: Type.Integer({ minimum: 0 }),
    status: stringEnum(['active', 'suspended']),
  },
  { title: 'Dealer' },
);
export type DealerResponse = Static<typeof dealerResponse>;
