// Shows notifications, and answers with one tap. It gets nothing else to do: pages are not
// its business.
'use strict';
// Addresses lead to this server only, whatever a message says.
const here = address => { const u = new URL(address || '/inbox', location.origin); return location.origin + u.pathname + u.search };
self.addEventListener('push', e => {
  let m = {};
  try { m = e.data.json() } catch { /* an empty message is shown, too: the browser wants to see one */ }
  const actions = (m.actions || []).slice(0, Notification.maxActions || 2).map((a, i) => ({action: String(i), title: a.label}));
  e.waitUntil(self.registration.showNotification(m.title || 'Bossman', {body: m.body || '', tag: m.tag || '', data: m, actions}));
});
self.addEventListener('notificationclick', e => {
  const m = e.notification.data || {}, a = e.action === '' ? null : (m.actions || [])[+e.action];
  e.notification.close();
  if (!a) { e.waitUntil(clients.openWindow(here(m.url))); return }
  e.waitUntil(fetch(here(a.url), {method: 'POST', credentials: 'omit', redirect: 'error'}).then(r => {
    if (!r.ok) throw new Error(r.status);
    return self.registration.showNotification('Sent', {body: a.label, tag: m.tag || '', data: {url: m.url}});
  }).catch(() => self.registration.showNotification('Not sent', {body: 'Look at it in the inbox.', tag: m.tag || '', data: {url: m.url}})));
});
