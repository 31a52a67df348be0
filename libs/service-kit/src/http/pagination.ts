import { type Static, type TSchema, Type } from 'typebox';
import { AppError } from './errors.ts';

/** Default and maximum number of items of a page. */
const defaultPageSize = 50;
const maxPageSize = 200;

/** Largest integer of a query: a larger offset or page is 400, a smaller one past the end is an empty page. */
const maxOffset = 999_999_999_999_999;

/** Query parameters of every paged list: `limit` and `offset`, or `page` instead of `offset`. */
export const paginationQuery = {
  limit: Type.Optional(
    Type.Integer({ minimum: 1, description: `Number of items, at most ${maxPageSize}.`, default: defaultPageSize }),
  ),
  offset: Type.Optional(
    Type.Integer({
      minimum: 0,
      maximum: maxOffset,
      description: 'Number of skipped items, default 0. Past the end the page is empty.',
    }),
  ),
  page: Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: maxOffset,
      description: 'Page number from 1, instead of offset. Past the end it is empty.',
    }),
  ),
};

/** The requested part of a list. */
export interface Pagination {
  readonly limit: number;
  readonly offset: number;
  /** From 1. */
  readonly page: number;
}

/** Parses the parameters of a page; offset and page together are 400. A limit above the maximum is clamped. */
export function parsePagination(query: {
  readonly limit?: number | undefined;
  readonly offset?: number | undefined;
  readonly page?: number | undefined;
}): Pagination {
  const limit = Math.min(query.limit ?? defaultPageSize, maxPageSize);
  if (query.page !== undefined && query.offset !== undefined)
    throw new AppError(
      'conflicting_parameters',
      'The parameters page and offset cannot be combined. Send one of them.',
    );
  if (query.page !== undefined)
    return { limit, offset: Math.min((query.page - 1) * limit, maxOffset), page: query.page };
  const offset = query.offset ?? 0;
  return { limit, offset, page: Math.floor(offset / limit) + 1 };
}

const paginationSchema = Type.Object(
  {
    page: Type.Integer({ minimum: 1 }),
    pageSize: Type.Integer({ minimum: 1 }),
    pageCount: Type.Integer({ minimum: 0 }),
    total: Type.Integer({ minimum: 0 }),
  },
  { title: 'Pagination', additionalProperties: false },
);

const ignoredFieldsSchema = Type.Optional(
  Type.Array(Type.String(), { description: 'JSON pointers to the ignored fields of the body.' }),
);

/** Returns the response schema of one record. */
export const singleSchema = <T extends TSchema>(item: T) =>
  Type.Object({ data: item, meta: Type.Optional(Type.Object({ ignored_fields: ignoredFieldsSchema })) });

/** Returns the schema of the page envelope. */
export const pageSchema = <T extends TSchema>(item: T) =>
  Type.Object({
    data: Type.Array(item),
    meta: Type.Object({ pagination: paginationSchema, ignored_fields: ignoredFieldsSchema }),
  });

/** A page from a store. */
export interface Page<T> {
  readonly items: readonly T[];
  /** Number of items in the whole list. */
  readonly total: number;
}

/** Returns the page envelope. A page past the end is empty, at which a client stops. */
export const pageResponse = <T>({ items, total }: Page<T>, { page, limit }: Pagination) => ({
  data: items,
  meta: {
    pagination: { page, pageSize: limit, pageCount: Math.ceil(total / limit), total } satisfies Static<
      typeof paginationSchema
    >,
  },
});

/** Sort order of a list: a field and its direction; the id breaks ties, so that pages are stable. */
export interface Sort {
  readonly field: string;
  readonly direction: 1 | -1;
}

/**
 * Returns the `sort` parameter of a list with these fields; a leading `-` sorts descending. The default is a field, or
 * null if `otherwise` describes another order.
 */
export const sortParameter = (
  fields: readonly string[],
  own: { readonly default?: string } | { readonly default: null; readonly otherwise: string } = {},
) => {
  const { default: order = '-id' } = own;
  const otherwise = 'otherwise' in own ? ` Default: ${own.otherwise}.` : '';
  return Type.Optional(
    Type.Unsafe<string>({
      type: 'string',
      enum: fields.flatMap((field) => [field, `-${field}`]),
      description: `Sort field, with a leading - for descending.${otherwise}`,
      ...(order === null ? {} : { default: order }),
    }),
  );
};

/** Parses a value of `sortParameter`. */
export const parseSort = (sort = '-id'): Sort =>
  sort.startsWith('-') ? { field: sort.slice(1), direction: -1 } : { field: sort, direction: 1 };
