import { type Static, type TSchema, Type } from 'typebox';
import { AppError } from './errors.ts';

/** Items of a page when the caller does not say, and at most (platform-contract.md, section 1.5). */
export const defaultPageSize = 50;
export const maxPageSize = 200;

/** The largest integer of a query: an offset or page above it is 400, one below it and past the end is an empty page. */
const maxOffset = 999_999_999_999_999;

/** Query parameters of every paged list: `limit` and `offset`, or `page` in the place of `offset`. */
export const paginationQuery = {
  limit: Type.Optional(
    Type.Integer({ minimum: 1, description: `Items of a page, at most ${maxPageSize}.`, default: defaultPageSize }),
  ),
  offset: Type.Optional(
    Type.Integer({
      minimum: 0,
      maximum: maxOffset,
      description: 'Items to leave out at the start; 0 without it. Past the end the page is empty.',
    }),
  ),
  page: Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: maxOffset,
      description: 'Page from 1, in the place of offset. Past the end it is empty.',
    }),
  ),
};

/** The part of a list that was asked for. */
export interface Pagination {
  readonly limit: number;
  readonly offset: number;
  /** From 1. */
  readonly page: number;
}

/** Reads the two ways of asking for a page; both at once are 400. A limit above the maximum is clamped. */
export function parsePagination(query: {
  readonly limit?: number | undefined;
  readonly offset?: number | undefined;
  readonly page?: number | undefined;
}): Pagination {
  const limit = Math.min(query.limit ?? defaultPageSize, maxPageSize);
  if (query.page !== undefined && query.offset !== undefined)
    throw new AppError('conflicting_parameters', 'The parameters page and offset exclude each other.');
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
  Type.Array(Type.String(), { description: 'JSON pointers to the fields of the body that were ignored.' }),
);

/** Schema of one record as an answer. */
export const singleSchema = <T extends TSchema>(item: T) =>
  Type.Object({ data: item, meta: Type.Optional(Type.Object({ ignored_fields: ignoredFieldsSchema })) });

/** Schema of the paginated envelope. */
export const pageSchema = <T extends TSchema>(item: T) =>
  Type.Object({
    data: Type.Array(item),
    meta: Type.Object({ pagination: paginationSchema, ignored_fields: ignoredFieldsSchema }),
  });

/** What a store answers for one page. */
export interface Page<T> {
  readonly items: readonly T[];
  /** Of the whole list. */
  readonly total: number;
}

/** The paginated envelope. A page past the end is empty, which is what a consumer stops on. */
export const pageResponse = <T>({ items, total }: Page<T>, { page, limit }: Pagination) => ({
  data: items,
  meta: {
    pagination: { page, pageSize: limit, pageCount: Math.ceil(total / limit), total } satisfies Static<
      typeof paginationSchema
    >,
  },
});

/** How a list is sorted: a field and its direction; the id breaks ties, so that paging is stable. */
export interface Sort {
  readonly field: string;
  readonly direction: 1 | -1;
}

/**
 * The `sort` parameter of a list whose records can be ordered by these fields; `-` in front for descending. A list that has an order of its own names it as its
 * default; null where that is the order of no field, and `otherwise` tells which.
 */
export const sortParameter = (
  fields: readonly string[],
  own: { readonly default?: string } | { readonly default: null; readonly otherwise: string } = {},
) => {
  const { default: order = '-id' } = own;
  const otherwise = 'otherwise' in own ? ` Without it: ${own.otherwise}.` : '';
  return Type.Optional(
    Type.Unsafe<string>({
      type: 'string',
      enum: fields.flatMap((field) => [field, `-${field}`]),
      description: `Field to sort by, with - in front for descending.${otherwise}`,
      ...(order === null ? {} : { default: order }),
    }),
  );
};

/** Reads a value of `sortParameter`. */
export const parseSort = (sort = '-id'): Sort =>
  sort.startsWith('-') ? { field: sort.slice(1), direction: -1 } : { field: sort, direction: 1 };
