import { expect, it } from '@jest/globals';
import { formatAmount } from './money.ts';

it.each([
  [129_900, 'USD', '$1,299.00'],
  [1_299, 'JPY', '¥1,299'],
])('an amount of %d in the smallest unit of %s is %s', (amount, currency, text) => {
  expect(formatAmount(amount, currency, 'en')).toBe(text);
});
