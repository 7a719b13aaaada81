<%@ page contentType="text/html; charset=UTF-8" session="false" trimDirectiveWhitespaces="true" %>
<%@ taglib prefix="c" uri="jakarta.tags.core" %>
<%@ taglib prefix="site" tagdir="/WEB-INF/tags" %>
<site:page title="Bids on ${item.name()}">
<site:summary item="${item}"/>
<table>
<thead><tr><th>Bidder</th><th class="number">Bid</th><th class="number">Quantity</th><th>Placed</th></tr></thead>
<tbody>
<c:forEach items="${history}" var="bid">
<tr>
<td><a href="/users/${bid.user()}"><c:out value="${bid.bidder()}"/></a></td>
<td class="number">${bid.amount().shown()}</td>
<td class="number">${bid.quantity()}</td>
<td>${bid.placed()}</td>
</tr>
</c:forEach>
</tbody>
</table>
<p><a href="/items/${item.id()}">Back to the item</a></p>
</site:page>
