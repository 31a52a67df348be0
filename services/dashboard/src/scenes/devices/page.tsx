import { getRouteApi } from '@tanstack/react-router';
import { useTranslation } from 'react-i18next';
import { TabbedPage } from '../../common/ui/tabbed-page.tsx';
import { MiningTab } from './parts/mining-tab.tsx';
import { PartnersTab } from './parts/partners-tab.tsx';
import { UnassignedTab } from './parts/unassigned-tab.tsx';

const route = getRouteApi('/app/devices/{-$tab}');

/** Shows terminals without a vehicle, mining devices, and partners whose servers report devices. */
export function DevicesPage() {
  const { t } = useTranslation('devices');
  const { tab } = route.useParams();
  const navigate = route.useNavigate();
  return (
    <TabbedPage
      title={t('title')}
      tabs={[
        { name: 'unassigned', label: t('tab.unassigned'), permission: 'fleet', content: <UnassignedTab /> },
        { name: 'mining', label: t('tab.mining'), permission: 'fleet', content: <MiningTab /> },
        { name: 'partners', label: t('tab.partners'), permission: 'administration', content: <PartnersTab /> },
      ]}
      tab={tab}
      onChange={(name) => void navigate({ params: { tab: name } })}
    />
  );
}
