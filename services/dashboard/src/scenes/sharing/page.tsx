import { Group } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import { useCan } from '../../common/session/session-context.ts';
import { AddLink } from '../../common/sharing/add-link.tsx';
import { ShareLinks } from '../../common/sharing/share-links.tsx';
import { ShareVehicles } from '../../common/sharing/share-vehicles.tsx';
import { SharedUsers } from '../../common/sharing/shared-users.tsx';
import { NoPermission } from '../../common/ui/no-permission.tsx';
import './sharing.css';

/** Lists users and guests outside the account, and what they may see of which vehicle. */
export function SharingPage() {
  const { t } = useTranslation('sharing');
  const can = useCan();
  if (!can('sharing')) return <NoPermission />;
  return (
    <div className="page sharing-page">
      <h1>{t('common:palette.page.sharing')}</h1>
      <section className="card" aria-label={t('users')}>
        <Group justify="space-between">
          <h2>{t('users')}</h2>
          <ShareVehicles />
        </Group>
        <SharedUsers />
      </section>
      <section className="card" aria-label={t('links')}>
        <Group justify="space-between">
          <h2>{t('links')}</h2>
          <AddLink />
        </Group>
        <ShareLinks />
      </section>
    </div>
  );
}
