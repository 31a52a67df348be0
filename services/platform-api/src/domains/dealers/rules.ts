import type { DealerShown } from './schema.ts';

/** True when a text is part of what a dealer is found by. */
export function isMatch(dealer: DealerShown, query: string | undefined): boolean {
  const part = query?.toLowerCase() ?? '';
  return [dealer.name, dealer.phone_number, dealer.email, dealer.city].some(
    (value) => value?.toLowerCase().includes(part) === true,
  );
}
