import { useTranslation } from 'react-i18next';

interface Bucket {
  readonly from: string;
  readonly succeeded: number;
  readonly failed: number;
  readonly skipped: number;
}

const barWidth = 8;
const height = 28;

/** Draws bars of the deliveries of the last day, failed ones on top. The text beside it has the sums. */
export function SeriesChart({ series }: { series: readonly Bucket[] }) {
  const { t } = useTranslation('profile');
  const most = Math.max(1, ...series.map(({ succeeded, failed, skipped }) => succeeded + failed + skipped));
  const scale = height / most;
  const width = series.length * barWidth;
  return (
    <svg
      role="img"
      aria-label={t('webhooks.stats.chart')}
      width={width}
      height={height}
      viewBox={`0 0 ${width} ${height}`}
      className="series-chart"
    >
      {series.map(({ from, succeeded, failed, skipped }, index) => {
        const left = index * barWidth;
        const good = succeeded * scale;
        const bad = failed * scale;
        const none = skipped * scale;
        return (
          <g key={from}>
            <rect x={left} y={height - good} width={barWidth - 2} height={good} className="succeeded" />
            <rect x={left} y={height - good - none} width={barWidth - 2} height={none} className="skipped" />
            <rect x={left} y={height - good - none - bad} width={barWidth - 2} height={bad} className="failed" />
          </g>
        );
      })}
    </svg>
  );
}
