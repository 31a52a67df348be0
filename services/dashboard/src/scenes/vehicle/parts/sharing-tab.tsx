import { useTranslation } from 'react-i18next';
import type { Vehicle } from '../../../common/fleet/vehicle.ts';
import { useCan } from '../../../common/session/session-context.ts';
import { NewLink } from '../../../common/sharing/new-link.tsx';
import { ShareForm } from '../../../common/sharing/share-form.tsx';
import { ShareLinks } from '../../../common/sharing/share-links.tsx';
import { SharedUsers } from '../../../common/sharing/shared-users.tsx';
import { NoPermission } from '../../../common/ui/no-permission.tsx';

/** Lists users who see the vehicle, and links for guests. */
export function SharingTab({ vehicle }: { vehicle: Vehicle }) {
  const { t } = useTranslation('vehicle');
  const can = useCan();
  if (!can('sharing')) return <NoPermission />;
  return (
    <div className="vehicle-grid">
      <section className="card" aria-label={t('sharing:users')}>
        <h2>{t('sharing:users')}</h2>
        <SharedUsers vehicleId={vehicle.id} />
        <ShareForm vehicleIds={[vehicle.id]} />
      </section>
      <section className="card" aria-label={t('sharing:links')}>
        <h2>{t('sharing:links')}</h2>
        <ShareLinks vehicleId={vehicle.id} />
        <NewLink vehicleId={vehicle.id} />
      </section>
    </div>
  );
}
