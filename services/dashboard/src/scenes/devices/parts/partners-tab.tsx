import { Alert, Button, Code, Group, Text } from '@mantine/core';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { CopyText } from '../../../common/ui/copy-text.tsx';
import { ListStates } from '../../../common/ui/list-states.tsx';
import { Empty } from '../../../common/ui/states.tsx';
import { type Partner, type PartnerWithToken, usePartners } from '../queries.ts';
import { PartnerEditor } from './partner-editor.tsx';

/** Lists companies whose servers report devices, each with a token. */
export function PartnersTab() {
  const { t } = useTranslation('devices');
  const partners = usePartners();
  const [edited, setEdited] = useState<Partner | 'new' | null>(null);
  const [created, setCreated] = useState<PartnerWithToken | null>(null);
  return (
    <section aria-label={t('tab.partners')}>
      <Group justify="space-between" mb="sm">
        <p>{t('partners.text')}</p>
        <Button onClick={() => setEdited('new')}>{t('partners.add')}</Button>
      </Group>
      {created === null ? null : <TokenOnce partner={created} onClose={() => setCreated(null)} />}
      <ListStates
        query={partners}
        items={partners.data}
        empty={
          <Empty title={t('partners.empty')}>
            <p>{t('partners.emptyText')}</p>
          </Empty>
        }
      >
        {(items) => <PartnerTable partners={items} onEdit={setEdited} />}
      </ListStates>
      {edited === null ? null : (
        <PartnerEditor
          partner={edited === 'new' ? null : edited}
          onCreated={setCreated}
          onClose={() => setEdited(null)}
        />
      )}
    </section>
  );
}

/** The token of a new partner, which no later response contains. */
function TokenOnce({ partner, onClose }: { partner: PartnerWithToken; onClose: () => void }) {
  const { t } = useTranslation('devices');
  return (
    <Alert variant="outline" mb="md" title={t('partners.tokenOnce', { name: partner.name })} role="status">
      <Text size="sm">{t('partners.tokenText')}</Text>
      <Group gap="sm" mt="sm">
        <Code>{partner.token}</Code>
        <CopyText text={partner.token} />
        <Button size="compact-sm" onClick={onClose}>
          {t('partners.tokenSaved')}
        </Button>
      </Group>
    </Alert>
  );
}

interface PartnerTableProps {
  readonly partners: readonly Partner[];
  readonly onEdit: (partner: Partner) => void;
}

function PartnerTable({ partners, onEdit }: PartnerTableProps) {
  const { t } = useTranslation('devices');
  return (
    <div className="table-scroll">
      <table className="data" aria-label={t('tab.partners')}>
        <thead>
          <tr>
            {(['name', 'token', 'prefixes', 'addresses', 'level', 'commandUrl'] as const).map((column) => (
              <th key={column}>{t(`partners.column.${column}`)}</th>
            ))}
            <th>{t('actions')}</th>
          </tr>
        </thead>
        <tbody>
          {partners.map((partner) => (
            <tr key={partner.id}>
              <td>{partner.name}</td>
              <td>{t('partners.hint', { hint: partner.token_hint })}</td>
              <td>{partner.imei_prefixes.join(', ') || t('partners.any')}</td>
              <td>{partner.ip_allowlist.join(', ') || t('partners.any')}</td>
              <td>{t(`partners.level.${partner.command_level}`)}</td>
              <td>{partner.command_url ?? '–'}</td>
              <td>
                <Button
                  size="compact-sm"
                  variant="default"
                  aria-label={t('editOf', { name: partner.name })}
                  onClick={() => onEdit(partner)}
                >
                  {t('edit')}
                </Button>
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
