import { useQueries } from '@tanstack/react-query';
import { type RefObject, useEffect, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { useSession } from '../../../common/session/session-context.ts';
import { formatBytes, sumUsage } from '../data-use.ts';

const rateIntervalMs = 2_000;
const refreshMs = 60_000;

interface DataMeterProps {
  readonly vehicleIds: readonly number[];
  /** Bytes that the tiles have received since the page was opened. */
  readonly receivedBytes: RefObject<number>;
}

/** Shows the bytes of the running streams, and the data volume of their vehicles in this month. */
export function DataMeter({ vehicleIds, receivedBytes }: DataMeterProps) {
  const { t, i18n } = useTranslation('video');
  const { api } = useSession();
  const [rate, setRate] = useState(0);
  useEffect(() => {
    let before = receivedBytes.current;
    const timer = setInterval(() => {
      setRate(((receivedBytes.current - before) * 1_000) / rateIntervalMs);
      before = receivedBytes.current;
    }, rateIntervalMs);
    return () => clearInterval(timer);
  }, [receivedBytes]);
  const usages = useQueries({
    queries: vehicleIds.map((vehicleId) => ({
      queryKey: ['getDataUsage', vehicleId],
      refetchInterval: refreshMs,
      queryFn: async () =>
        (await api.GET('/api/vehicles/{vehicleId}/data-usage', { params: { path: { vehicleId } } })).data?.data,
    })),
  });
  const { usedBytes, budgetBytes } = sumUsage(usages.map(({ data }) => data));
  const bytes = (size: number): string => formatBytes(size, i18n.language);
  const used =
    budgetBytes === null ? bytes(usedBytes) : t('data.budget', { used: bytes(usedBytes), budget: bytes(budgetBytes) });
  return (
    <output className="video-meter" aria-label={t('data.title')}>
      <span>{t('data.rate', { rate: bytes(rate) })}</span>
      <span>{t('data.page', { size: bytes(receivedBytes.current) })}</span>
      {vehicleIds.length === 0 ? null : <span>{t('data.month', { used })}</span>}
    </output>
  );
}
