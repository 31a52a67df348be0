import type { components } from '@fleet/api-client';

type DataUsage = components['schemas']['DataUsage'];

const steps = ['byte', 'kilobyte', 'megabyte', 'gigabyte', 'terabyte'] as const;
const factor = 1_000;

/** Returns a size such as "412 kB", with one decimal below ten. */
export function formatBytes(sizeBytes: number, language: string): string {
  let [size, step] = [sizeBytes, 0];
  while (size >= factor && step < steps.length - 1) {
    size /= factor;
    step += 1;
  }
  const maximumFractionDigits = size < 10 && step > 0 ? 1 : 0;
  const unit = steps[step] ?? 'byte';
  return new Intl.NumberFormat(language, { style: 'unit', unit, maximumFractionDigits }).format(size);
}

/** Returns the data volume of vehicles, and their common budget; null unless every vehicle has one. */
export function sumUsage(usages: readonly (DataUsage | undefined)[]): {
  readonly usedBytes: number;
  readonly budgetBytes: number | null;
} {
  const known = usages.filter((usage) => usage !== undefined);
  const usedBytes = known.reduce((sum, each) => sum + each.bytes + each.picture_bytes + each.upload_bytes, 0);
  const hasBudgets = known.length > 0 && known.every(({ budget }) => budget !== null);
  const budgetBytes = hasBudgets ? known.reduce((sum, { budget }) => sum + (budget?.bytes ?? 0), 0) : null;
  return { usedBytes, budgetBytes };
}
