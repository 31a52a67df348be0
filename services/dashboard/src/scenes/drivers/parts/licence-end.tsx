import { Badge } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import type { Driver } from '../../../common/fleet/vehicle.ts';
import { getServerTimeMs } from '../../../common/format/clock.ts';
import { findLicenceDays, toLicenceState } from '../model.ts';

/** Shows the last day of the licence, marked if it is near or past. */
export function LicenceEnd({ driver }: { driver: Driver }) {
  const { t, i18n } = useTranslation('drivers');
  const days = findLicenceDays(driver, getServerTimeMs());
  const state = toLicenceState(days);
  if (driver.license_expiry_date === null || days === null) return <>–</>;
  const date = new Intl.DateTimeFormat(i18n.language, { dateStyle: 'medium', timeZone: 'UTC' });
  return (
    <span className="licence-end">
      <time dateTime={driver.license_expiry_date}>{date.format(new Date(driver.license_expiry_date))}</time>
      {state === 'ended' ? (
        <Badge color="critical" variant="outline" miw="max-content">
          {t('licence.ended')}
        </Badge>
      ) : null}
      {state === 'ending' ? (
        <Badge variant="default" miw="max-content">
          {t('licence.ending', { count: days })}
        </Badge>
      ) : null}
    </span>
  );
}
